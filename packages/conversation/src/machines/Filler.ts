import { type Draft, startTimer, stopTimer } from "../Draft.ts"
import { may } from "../Floor.ts"
import { moment, sorry } from "../phrases/Moments.ts"
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

const say = (d: Draft): void => Speech.announce(d, moment(languageOf(d.state)), { filler: true })

/** The caller waits because something failed: like a filler, and in place of one. */
export const excuse = (d: Draft): void => {
  stop(d)
  Speech.announce(d, sorry(languageOf(d.state)), { filler: true })
}
