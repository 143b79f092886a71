import type { EndedReason } from "@svc/api/calls/Call"
import type { Outcome } from "../Command.ts"
import { command, type Draft, patch, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import { isSpeaking, openEntries } from "../Entries.ts"
import type { Input, InputOf } from "../Input.ts"
import * as Gather from "./Gather.ts"
import * as Interruption from "./Interruption.ts"
import * as Model from "./Model.ts"
import * as PostCall from "./PostCall.ts"
import * as Problems from "./Problems.ts"
import * as Speech from "./Speech.ts"
import * as Tools from "./Tools.ts"
import * as Transfer from "./Transfer.ts"
import * as Turn from "./Turn.ts"

/**
 * How a call ends.
 *
 * | phase | on | then |
 * |---|---|---|
 * | starting, answering | no usable configuration | over: failed |
 * | starting, answering | the caller hangs up | over: canceled |
 * | menu | no usable second configuration | over: failed |
 * | live | end_call | finishes speaking, says the farewell, then hangs up |
 * | connected, menu, live | API, limits, failure, shutdown | stops speaking, says the farewell, then hangs up |
 * | ending | all is spoken, or {@link farewellMs} | hangs up |
 * | menu, live, ending | either side hung up | draining: speech-to-text is asked for the rest of its transcript |
 * | draining | the transcript is complete, or {@link drainMs} | post_call |
 * | transferred | either party hangs up, API, shutdown | over, as transferred |
 *
 * The first reason counts: a caller who hangs up during the farewell does not change it.
 */

/** Time limit of the farewell. */
export const farewellMs = 15_000
/**
 * The same when the process is about to stop. With {@link clearMs} and {@link drainMs} it is less than the engine
 * waits.
 */
export const shutdownFarewellMs = 6_000
/** How long to wait for the rest of the transcript after the hang-up. */
export const drainMs = 1_500
/** How long to wait for the report of what was played before hanging up without it. */
const clearMs = 1_000

const outcomeOf = (reason: EndedReason): Outcome =>
  reason === "error"
    ? { status: "failed", disposition: "failed", ended_reason: "error" }
    : { status: "completed", disposition: "answered", ended_reason: reason }

/** Ends a live call from the agent's side, with the farewell. */
export const begin = (
  d: Draft,
  reason: EndedReason,
  options: {
    readonly finishSpeech?: boolean
    readonly limitMs?: number
    readonly farewell?: boolean
    /** Replaces the outcome that follows from the reason. */
    readonly outcome?: Outcome
    /** Said before the farewell. */
    readonly apology?: string
    /** Said in place of the farewell; null: nothing is said. */
    readonly message?: string | null
  } = {}
): void => {
  if (!["live", "menu", "connected"].includes(d.state.phase)) return
  for (const timer of ["endpoint", "barge_in", "resume", "inactivity", "max_duration"] as const) stopTimer(d, timer)
  Model.cancel(d)
  Transfer.cancel(d, "the call ended")
  Tools.cancelAll(d)
  Gather.cancelAll(d)
  patch(d, { phase: "ending", ending: { outcome: options.outcome ?? outcomeOf(reason), hanging_up: false } })
  Interruption.end(d)
  if (options.finishSpeech === true) Speech.speakWaiting(d)
  else Speech.dropWaiting(d)
  if (options.finishSpeech !== true && isSpeaking(d.state)) Speech.stop(d)
  if (options.apology !== undefined) Speech.announce(d, options.apology)
  const text = options.message === undefined ? (d.state.config?.end_session_message ?? null) : options.message
  if (text !== null && options.farewell !== false) Speech.announce(d, text)
  startTimer(d, "farewell", options.limitMs ?? farewellMs)
}

/** In the phase `ending`: hangs up when nothing is left to say. Called at the end of every step. */
export const hangUpWhenSilent = (d: Draft): void => {
  const { ending, phase } = d.state
  if (phase !== "ending" || ending === null) return
  const hasHeldSpeech = openEntries(d.state).some((e) => e.utterances.some((u) => u.state === "held"))
  if (!isSpeaking(d.state) && !hasHeldSpeech) finish(d, ending.outcome, hangupReason(ending.outcome))
}

const hangupReason = (outcome: Outcome): string => outcome.ended_reason ?? outcome.status

/** The farewell took too long. */
export const onFarewellTimer = (d: Draft): void => {
  const { ending } = d.state
  if (ending === null) return
  if (!ending.hanging_up && isSpeaking(d.state)) {
    patch(d, { ending: { ...ending, hanging_up: true } })
    Speech.stop(d)
    startTimer(d, "farewell", clearMs)
  } else finish(d, ending.outcome, hangupReason(ending.outcome))
}

/** Ends a call whose other side is gone or never answered. An outcome that was decided before stays. */
export const over = (d: Draft, outcome: Outcome): void =>
  finish(d, d.state.ending?.outcome ?? outcome, hangupReason(outcome))

/** The other side hung up, or the connection broke. */
export const onHungUp = (d: Draft): void => {
  if (d.state.voicemail === "machine") over(d, voicemailHungUp)
  else over(d, d.state.answered_at === null ? canceled : hungUp)
}

/** The process of the call died, or the session had a defect. */
export const onCrash = (d: Draft, { recovered }: InputOf<"Crashed">): void => {
  Problems.failed(
    d,
    "server",
    recovered === true
      ? "the process of Svc that held the call stopped working; another one completed the record"
      : "an error in Svc ended the call"
  )
  // Unfinished words do not enter the transcript, and speech-to-text cannot complete them.
  patch(d, { caller: { ...d.state.caller, words: [], partial: "" }, listening: false })
  finish(d, d.state.ending?.outcome ?? failed, hangupReason(failed), PostCall.skip)
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
  if (d.state.answered_at === null) {
    Problems.failed(d, "server", "Svc was stopped before the call was answered")
    over(d, failed)
  } else begin(d, "agent-hangup", { limitMs: shutdownFarewellMs })
}

/** Hangs up, then waits briefly for the rest of the transcript. */
const finish = (d: Draft, outcome: Outcome, reason: string, next?: typeof PostCall.skip): void => {
  Model.cancel(d)
  Transfer.cancel(d, outcome.ended_reason === "caller-hangup" ? "the caller hung up" : "the call ended")
  Tools.cancelAll(d)
  Gather.cancelAll(d)
  Speech.recordSilence(d)
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
  patch(d, {
    phase: "draining",
    ended_at: d.at,
    interruption: null,
    open_speech: null,
    holds_audio: false,
    ending: { outcome, hanging_up: true }
  })
  command(d, { _tag: "Hangup", reason })
  if (d.state.listening && next === undefined) {
    startTimer(d, "drain", drainMs)
    command(d, { _tag: "StopListening" })
  } else conclude(d, outcome, next)
}

/** Ends the phase `draining`. Words of an unfinished turn are kept: they are often the reason for the hang-up. */
const conclude = (d: Draft, outcome: Outcome, next = PostCall.begin): void => {
  stopTimer(d, "drain")
  Turn.commit(d)
  next(d, outcome)
}

/** The rest of the transcript did not come in time. */
export const onDrainTimer = (d: Draft): void => conclude(d, d.state.ending?.outcome ?? failed)

/** Applies an input while draining: only transcripts and the end of speech-to-text count. */
export const onDraining = (d: Draft, input: Input): void => {
  const outcome = d.state.ending?.outcome ?? failed
  switch (input._tag) {
    case "CallerPartial":
      Turn.addWords(d, input.text, false)
      return
    case "CallerFinal":
      if (!Turn.isLate(d, input.text)) Turn.addWords(d, input.text, true)
      return
    case "RecognizerFinished":
    case "RecognizerFailed":
      conclude(d, outcome)
      return
    case "EndRequested":
      if (input.by === "shutdown") patch(d, { stopping: true })
      return
    case "Crashed":
      conclude(d, outcome, PostCall.skip)
      return
  }
}

export const failed: Outcome = { status: "failed", disposition: "failed", ended_reason: "error" }
export const rejected: Outcome = { status: "rejected", disposition: "rejected", ended_reason: null }
export const canceled: Outcome = { status: "canceled", disposition: "no-answer", ended_reason: "caller-hangup" }
export const hungUp: Outcome = { status: "completed", disposition: "answered", ended_reason: "caller-hangup" }
/** The voicemail hung up. */
const voicemailHungUp: Outcome = { status: "completed", disposition: "voicemail", ended_reason: "caller-hangup" }
