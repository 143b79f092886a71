import { type Draft, startTimer, stopTimer } from "../Draft.ts"
import { may } from "../Floor.ts"
import { phrasesIn } from "../phrases/Phrases.ts"
import { type AgentEntry, languageOf } from "../State.ts"
import * as Speech from "./Speech.ts"

/**
 * A few words while the model is slow, where `filler_ms` is set:
 *
 * | the timer | when |
 * |---|---|
 * | starts | the model is asked for what the caller waits for, and no filler was said since the caller spoke |
 * | stops | the model gives a sentence or calls tools, or its turn is over |
 * | fires | the words are said, unless somebody speaks |
 *
 * They are in the transcript, because the caller hears them; the model is not shown them, and they are no answer: the latency
 * goes on to the first frame of what the model says.
 */

const timer = "filler"

const isSaid = (d: Draft): boolean => {
  const { entries } = d.state
  const isFiller = (e: (typeof entries)[number]): e is AgentEntry => e.kind === "agent" && e.filler
  return entries.findLastIndex(isFiller) > entries.findLastIndex(({ kind }) => kind === "caller")
}

export const start = (d: Draft): void => {
  const { filler_ms } = d.state.facts
  if (filler_ms !== undefined && d.state.unanswered !== null && !isSaid(d)) startTimer(d, timer, filler_ms)
}

export const stop = (d: Draft): void => stopTimer(d, timer)

export const onTimer = (d: Draft): void => {
  if (may(d.state, "say filler")) say(d)
}

const say = (d: Draft): void => Speech.announce(d, phrasesIn(languageOf(d.state)).wait, { filler: true })

/** The caller waits because something failed: like a filler, and in place of one. */
export const excuse = (d: Draft): void => {
  stop(d)
  Speech.announce(d, phrasesIn(languageOf(d.state)).waitWithApology, { filler: true })
}

/** What the agent has done since the caller last spoke. */
const sinceCaller = (d: Draft): ReadonlyArray<AgentEntry> =>
  d.state.entries
    .slice(d.state.entries.findLastIndex(({ kind }) => kind === "caller") + 1)
    .filter((e): e is AgentEntry => e.kind === "agent")

/**
 * Called when a tool begins to run: says what `speak_during_tool_call` wants, once in a turn of the caller. Words of
 * the customer's are always said; with `auto` the agent says its own when it has said nothing in this turn. The model is not
 * shown them, and they are no answer: see Filler.
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
