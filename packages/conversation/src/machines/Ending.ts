import type { EndedReason } from "@svc/api/calls/Call"
import type { Outcome } from "../Command.ts"
import { command, type Draft, patch, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import type { Input, InputOf } from "../Input.ts"
import { isSpeaking, openEntries } from "../State.ts"
import * as AfterCall from "./AfterCall.ts"
import * as Gather from "./Gather.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"
import * as Tools from "./Tools.ts"
import * as Transfer from "./Transfer.ts"
import * as Turn from "./Turn.ts"

/**
 * How a call ends.
 *
 * | phase | on | then |
 * |---|---|---|
 * | starting, answering | no usable configuration | refused: failed |
 * | starting, answering | caller gone | canceled |
 * | menu | no usable second configuration | over: failed |
 * | live | end_call | what is being said, then the farewell, then we hang up |
 * | connected, menu, live | API, limits, failure, shutdown | stops speaking, says the farewell, then we hang up |
 * | ending | all spoken, or {@link farewellMs} over | we hang up |
 * | menu, live, ending | caller gone, or we hung up | draining: the recognizer is asked for its last words |
 * | draining | they are there, or do not come within {@link drainMs} | over |
 * | transferred | either party gone, API, shutdown | over, as transferred |
 *
 * The reason is the first one: a caller who hangs up during our farewell does not change it.
 */

/** The longest that a farewell may take. */
export const farewellMs = 15_000
/** The same when the process is about to stop; with {@link clearMs} and {@link drainMs} less than what the engine waits. */
export const shutdownFarewellMs = 6_000
/** The longest wait for the recognizer's last words after the hang-up. */
export const drainMs = 1_500
/** How long we wait to hear what was played before we hang up all the same. */
const clearMs = 1_000

const outcomeOf = (reason: EndedReason): Outcome =>
  reason === "error"
    ? { status: "failed", disposition: "failed", ended_reason: "error" }
    : { status: "completed", disposition: "answered", ended_reason: reason }

/** Ends a live call from our side, with the farewell. */
export const begin = (
  d: Draft,
  reason: EndedReason,
  options: {
    readonly finishSpeech?: boolean
    readonly limitMs?: number
    readonly farewell?: boolean
    /** When it is not what follows from the reason. */
    readonly outcome?: Outcome
    /** Said in place of the farewell; null: nothing is. */
    readonly message?: string | null
  } = {}
): void => {
  if (!["live", "menu", "connected"].includes(d.state.phase)) return
  for (const timer of ["endpoint", "barge_in", "resume", "inactivity", "max_duration"] as const) stopTimer(d, timer)
  Model.cancel(d)
  Transfer.cancel(d, "the call ended")
  Tools.cancelAll(d)
  Gather.cancelAll(d)
  patch(d, { phase: "ending", ending: { outcome: options.outcome ?? outcomeOf(reason), hanging: false } })
  Turn.endInterruption(d)
  if (options.finishSpeech !== true && isSpeaking(d.state)) Speech.stop(d)
  const text = options.message === undefined ? (d.state.config?.end_session_message ?? null) : options.message
  if (text !== null && options.farewell !== false) Speech.announce(d, text)
  startTimer(d, "farewell", options.limitMs ?? farewellMs)
}

/** In the ending: hangs up as soon as nothing is left to say. Called at the end of every step. */
export const hangUpWhenSilent = (d: Draft): void => {
  const { ending, phase } = d.state
  if (phase !== "ending" || ending === null) return
  const waits = openEntries(d.state).some((e) => e.utterances.some((u) => u.state === "held"))
  if (!isSpeaking(d.state) && !waits) finish(d, ending.outcome, hangupReason(ending.outcome))
}

const hangupReason = (outcome: Outcome): string => outcome.ended_reason ?? outcome.status

/** The farewell took too long. */
export const onFarewellTimer = (d: Draft): void => {
  const { ending } = d.state
  if (ending === null) return
  if (!ending.hanging && isSpeaking(d.state)) {
    patch(d, { ending: { ...ending, hanging: true } })
    Speech.stop(d)
    startTimer(d, "farewell", clearMs)
  } else finish(d, ending.outcome, hangupReason(ending.outcome))
}

/** The other side is gone, or never was: the call is over, with the reason that was decided before, if any. */
export const over = (d: Draft, outcome: Outcome): void =>
  finish(d, d.state.ending?.outcome ?? outcome, hangupReason(outcome))

/** The other side hung up, or the connection broke. */
export const onHungUp = (d: Draft): void => {
  if (d.state.voicemail === "machine") over(d, voicemailHungUp)
  else over(d, d.state.answered_at === null ? canceled : hungUp)
}

/** The process that held the call is gone: nothing more can be done for it. */
export const onCrash = (d: Draft): void => {
  // Unfinished words stay out of the transcript, and speech-to-text cannot give the last ones.
  patch(d, { caller: { ...d.state.caller, words: [], partial: "" }, listening: false })
  finish(d, d.state.ending?.outcome ?? failed, hangupReason(failed), AfterCall.skip)
}

/** The API or a shutdown ends the call. */
export const onRequested = (d: Draft, { by }: InputOf<"EndRequested">): void => {
  if (d.state.phase === "transferred") {
    over(d, Transfer.outcome)
    return
  }
  if (by === "api") {
    begin(d, "api")
    return
  }
  patch(d, { stopping: true })
  if (d.state.answered_at === null) over(d, failed)
  else begin(d, "agent-hangup", { limitMs: shutdownFarewellMs })
}

/** Hangs up; what the recognizer has not told yet is waited for a little. */
const finish = (d: Draft, outcome: Outcome, reason: string, next?: typeof AfterCall.skip): void => {
  Model.cancel(d)
  Transfer.cancel(d, outcome.ended_reason === "caller-hangup" ? "the caller hung up" : "the call ended")
  Tools.cancelAll(d)
  Gather.cancelAll(d)
  Speech.hush(d)
  for (const entry of openEntries(d.state)) {
    updateAgent(d, entry.turn, (e) => ({
      ...e,
      generating: false,
      interrupted: e.interrupted || e.utterances.some((u) => u.state !== "played"),
      utterances: e.utterances.map((u) => (u.state === "played" ? u : { ...u, state: "cut" }))
    }))
  }
  Speech.closeFinished(d)
  for (const timer of d.state.timers) stopTimer(d, timer)
  patch(d, { phase: "draining", ended_at: d.at, interruption: null, ending: { outcome, hanging: true } })
  command(d, { _tag: "Hangup", reason })
  if (d.state.listening && next === undefined) {
    startTimer(d, "drain", drainMs)
    command(d, { _tag: "StopListening" })
  } else conclude(d, outcome, next)
}

/** The last step of every call with somebody on the line. Words of an unfinished turn are kept: they are often why somebody hung up. */
const conclude = (d: Draft, outcome: Outcome, next = AfterCall.begin): void => {
  stopTimer(d, "drain")
  Turn.commit(d)
  next(d, outcome)
}

/** The last words did not come in time. */
export const onDrainTimer = (d: Draft): void => conclude(d, d.state.ending?.outcome ?? failed)

/** After the hang-up only the caller's last words count. */
export const onDraining = (d: Draft, input: Input): void => {
  const outcome = d.state.ending?.outcome ?? failed
  switch (input._tag) {
    case "CallerPartial":
      Turn.noteWords(d, input.text, false)
      return
    case "CallerFinal":
      Turn.noteWords(d, input.text, true)
      return
    case "RecognizerFinished":
    case "RecognizerFailed":
      conclude(d, outcome)
      return
    case "EndRequested":
      if (input.by === "shutdown") patch(d, { stopping: true })
      return
    case "Crashed":
      conclude(d, outcome, AfterCall.skip)
      return
  }
}

export const failed: Outcome = { status: "failed", disposition: "failed", ended_reason: "error" }
export const rejected: Outcome = { status: "rejected", disposition: "rejected", ended_reason: null }
export const canceled: Outcome = { status: "canceled", disposition: "no-answer", ended_reason: "caller-hangup" }
export const hungUp: Outcome = { status: "completed", disposition: "answered", ended_reason: "caller-hangup" }
/** A voicemail that waited long enough for a message hangs up. */
const voicemailHungUp: Outcome = { status: "completed", disposition: "voicemail", ended_reason: "caller-hangup" }
