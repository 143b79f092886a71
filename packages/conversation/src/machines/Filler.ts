import { type Draft, startTimer, stopTimer } from "../Draft.ts"
import type { AgentEntry } from "../Entries.ts"
import { isAllowed } from "../Floor.ts"
import { phrasesIn } from "../phrases/Phrases.ts"
import { languageOf } from "../State.ts"
import * as Speech from "./Speech.ts"

/**
 * Fillers while the model is slow, if `filler_ms` is set:
 *
 * | the timer | when |
 * |---|---|
 * | starts | the model is asked, the caller waits for its answer, and no filler was said since the caller spoke |
 * | stops | the model returns a sentence or tool calls, or its turn is over |
 * | fires | the filler is said, unless the caller or the agent speaks |
 *
 * Fillers are in the transcript but hidden from the model. They are not answers: the latency is measured to the first
 * frame of the model's own speech.
 */

const timer = "filler"

const isSaid = (d: Draft): boolean => {
  const { entries } = d.state
  const isSilence = (e: (typeof entries)[number]): e is AgentEntry => e.kind === "agent" && e.filler
  return entries.findLastIndex(isSilence) > entries.findLastIndex(({ kind }) => kind === "caller")
}

export const start = (d: Draft): void => {
  const { filler_ms } = d.state.facts
  if (filler_ms !== undefined && d.state.unanswered !== null && !isSaid(d)) startTimer(d, timer, filler_ms)
}

export const stop = (d: Draft): void => stopTimer(d, timer)

export const onTimer = (d: Draft): void => {
  if (isAllowed(d.state, "say filler")) say(d)
}

const say = (d: Draft): void => Speech.announce(d, phrasesIn(languageOf(d.state)).wait, { filler: true })

/** Apologizes for a delay after a failure; replaces a filler. */
export const apologize = (d: Draft): void => {
  stop(d)
  Speech.announce(d, phrasesIn(languageOf(d.state)).waitWithApology, { filler: true })
}

/** The agent's entries since the caller last spoke. */
const sinceCaller = (d: Draft): ReadonlyArray<AgentEntry> =>
  d.state.entries
    .slice(d.state.entries.findLastIndex(({ kind }) => kind === "caller") + 1)
    .filter((e): e is AgentEntry => e.kind === "agent")

/**
 * Called when a tool starts: says the text of `speak_during_tool_call` as a filler, once per turn of the caller; with
 * `auto` a standard phrase, unless the agent has spoken in this turn.
 */
export const onToolStarted = (d: Draft): void => {
  const wanted = d.state.config?.speak_during_tool_call ?? null
  if (wanted === null) return
  const words = wanted === "auto" ? phrasesIn(languageOf(d.state)).wait : wanted
  const turn = sinceCaller(d)
  if (turn.some((e) => e.filler && e.utterances.some(({ text }) => text === words))) return
  if (wanted === "auto" && turn.some((e) => e.utterances.length > 0)) return
  Speech.announce(d, words, { filler: true })
}
