import type { CommandOf } from "../Command.ts"
import { command, type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import { isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { isBackchannel } from "../phrases/Backchannels.ts"
import { sameWords } from "../phrases/Words.ts"
import { type Conversation, isRunning, languageOf } from "../State.ts"
import * as Problems from "./Problems.ts"

/**
 * The look-up in the agent's knowledge bases for the caller's last words, so that the model has the passages that it
 * needs in its first request:
 *
 * | on | then |
 * |---|---|
 * | final words of the caller | they are looked up, in place of earlier words |
 * | the end of the turn | the model waits for a look-up of the whole turn, at most {@link lookUpMs} |
 * | KnowledgeFound | the model is asked, with the passages before the caller's words |
 * | KnowledgeFailed, or the timer | the model is asked without passages; a warning says why |
 * | the agent has no bases any more | nothing is looked up from then on |
 *
 * An agent that had no bases when the call began never looks anything up. Searches of the model are tool calls; see
 * Tools.
 */

/** How long the model waits for passages after the end of the caller's turn. */
export const lookUpMs = 150

const timer = "knowledge"

const patchKnowledge = (d: Draft, change: Partial<Conversation["knowledge"]>): void =>
  patch(d, { knowledge: { ...d.state.knowledge, ...change } })

/** Whether the model has to wait for passages. */
export const isAwaited = (state: Conversation): boolean => isRunning(state, timer)

const lookUp = (d: Draft, query: string): void => {
  const { found, next, pending } = d.state.knowledge
  const known = pending ?? found
  if (known !== null && sameWords(known.query, query)) return
  const id = `k${next}`
  patchKnowledge(d, { next: next + 1, pending: { id, query }, found: null })
  command(d, { _tag: "LookUp", id, purpose: "turn", query })
}

const needsLookUp = (d: Draft, words: string): boolean =>
  d.state.knowledge.available &&
  isAllowed(d.state, "ask model") &&
  words !== "" &&
  !isBackchannel(words, languageOf(d.state))

/** The caller has said final words, which may be the whole turn. */
export const onWords = (d: Draft, words: string): void => {
  // A turn that waits for its passages gets them first.
  if (!isAwaited(d.state) && needsLookUp(d, words)) lookUp(d, words)
}

/** The caller's turn was recorded, and the model is about to be asked. */
export const onTurn = (d: Draft): void => {
  const entry = d.state.entries.at(-1)
  const words = entry?.kind === "caller" ? entry.content : ""
  if (needsLookUp(d, words)) lookUp(d, words)
  else patchKnowledge(d, { pending: null })
  if (d.state.knowledge.pending === null) stopTimer(d, timer)
  else startTimer(d, timer, lookUpMs)
}

/** Takes the outcome of the look-up that is awaited, and returns whether this is it. */
const take = (d: Draft, id: string): boolean => {
  const { pending } = d.state.knowledge
  if (pending?.id !== id) return false
  stopTimer(d, timer)
  patchKnowledge(d, { pending: null, found: { query: pending.query, passages: [] } })
  return true
}

/** Returns whether the model may be asked now. */
export const onFound = (d: Draft, { bases, id, passages }: InputOf<"KnowledgeFound">): boolean => {
  const { pending } = d.state.knowledge
  if (!take(d, id)) return false
  patchKnowledge(d, { available: bases > 0, found: { query: pending?.query ?? "", passages } })
  return true
}

/** Returns whether the model may be asked now. */
export const onFailed = (d: Draft, { id, reason }: InputOf<"KnowledgeFailed">): boolean => {
  if (!take(d, id)) return false
  command(d, note(reason))
  Problems.warn(d, "knowledge", `a turn went on without knowledge: ${reason}`)
  return true
}

export const onTimer = (d: Draft): void => {
  patchKnowledge(d, { pending: null })
  command(d, note(lateReason))
  Problems.warn(d, "knowledge", `a turn went on without knowledge: ${lateReason}`)
}

const note = (reason: string): CommandOf<"Note"> => ({
  _tag: "Note",
  text: `The turn goes on without knowledge: ${reason}`
})

/** Why a turn went on without passages that came too late. */
const lateReason = `the look-up took longer than ${lookUpMs} ms`
