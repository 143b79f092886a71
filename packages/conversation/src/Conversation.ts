import type { Command } from "./Command.ts"
import { command, type Draft, emit, ids, patch, startTimer } from "./Draft.ts"
import { isAllowed } from "./Floor.ts"
import type { Facts, Input, InputOf } from "./Input.ts"
import * as Ending from "./machines/Ending.ts"
import * as Failures from "./machines/Failures.ts"
import * as Gather from "./machines/Gather.ts"
import * as History from "./machines/History.ts"
import * as Keypad from "./machines/Keypad.ts"
import * as Knowledge from "./machines/Knowledge.ts"
import * as Language from "./machines/Language.ts"
import * as Limits from "./machines/Limits.ts"
import * as Model from "./machines/Model.ts"
import * as Opening from "./machines/Opening.ts"
import * as PostCall from "./machines/PostCall.ts"
import * as Problems from "./machines/Problems.ts"
import * as Silence from "./machines/Silence.ts"
import * as Speculation from "./machines/Speculation.ts"
import * as Speech from "./machines/Speech.ts"
import * as Timers from "./machines/Timers.ts"
import * as Tools from "./machines/Tools.ts"
import * as Transfer from "./machines/Transfer.ts"
import * as Turn from "./machines/Turn.ts"
import * as Usage from "./machines/Usage.ts"
import * as Voicemail from "./machines/Voicemail.ts"
import { sameWords } from "./phrases/Words.ts"
import { type Conversation, initial, spokenWords } from "./State.ts"

/**
 * The conversation of a call, as a pure function: no I/O, no clock, no provider. The same inputs give the same
 * commands, so the journal of any call can be replayed.
 */

export type { Conversation } from "./State.ts"

type Result = readonly [Conversation, ReadonlyArray<Command>]

/** The first step of an inbound call, or of an outbound call that is to be placed. */
export const start = (facts: Facts): Result => {
  const d: Draft = { state: initial(facts), isCopy: true, at: 0, commands: [] }
  emit(d, { event: "call.ringing", data: { ...ids(d), from: facts.from, to: facts.to } })
  if (facts.outbound === undefined) command(d, { _tag: "FetchConfig" })
  else {
    command(d, { _tag: "Dial" })
    startTimer(d, "ring", facts.outbound.ring_timeout_seconds * 1000)
  }
  return [d.state, d.commands]
}

/** Applies one input. Returns the next state and the commands for the shell. */
export const step = (state: Conversation, input: Input): Result => {
  if (input._tag === "ModelUsed" || input._tag === "MediaReported") return [Usage.reported(state, input), []]
  if (state.phase === "over") return [state, []]
  const d: Draft = { state, isCopy: false, at: Math.min(input.at, state.ended_at ?? input.at), commands: [] }
  apply(d, input)
  for (const { run } of endOfStepActions) run(d)
  return [d.state, d.commands]
}

/** Actions of the machines at the end of every step, in this order: the input may have made them possible. */
export const endOfStepActions: ReadonlyArray<{ readonly name: string; readonly run: (d: Draft) => void }> = [
  // First: played speech enters the transcript before an answer to it.
  { name: "close finished agent turns", run: Speech.closeFinished },
  // After the question is closed: an answer that the caller gave during it is the next turn.
  { name: "take an early answer", run: Turn.takeEarlyAnswer },
  // After the caller's turn, which drops what waited during it.
  { name: "speak what waited for the caller", run: Turn.speakWaiting },
  // After all that an answer consists of was said.
  { name: "end the speech of a complete answer", run: Speech.endComplete },
  // After the caller's turn, which asks the model: a gather starts only when the model has nothing more to say.
  { name: "open the next gather", run: Gather.openNext },
  // After gathers: a transfer waits for all digits, because the caller leaves with it.
  { name: "begin a waiting transfer", run: Transfer.beginWaiting },
  // After everything that may speak: the call is hung up when nothing is left to say.
  { name: "hang up after the farewell", run: Ending.hangUpWhenSilent },
  // Inactivity depends on the state at the end of the step.
  { name: "watch inactivity", run: Limits.watchInactivity },
  { name: "watch silence", run: Silence.watch },
  // After everything that may change what the model would be asked.
  { name: "ask ahead", run: (d) => Speculation.settle(d, endTurn) },
  // After everything that may ask the model.
  { name: "count requests", run: Usage.countRequests }
]

/** All that the end of the caller's turn would do. */
const endTurn = (d: Draft): void => {
  Turn.onEndOfTurn(d)
  for (const { run } of endOfStepActions) run(d)
}

/** Whether a partial transcript can change anything now. The shell drops the others, and does not journal them. */
export const needsPartials = (state: Conversation): boolean =>
  !state.caller.speaking ||
  state.voicemail === "unknown" ||
  state.speculation.held !== null ||
  (state.caller.words.length === 0 && state.caller.partial === "") ||
  state.phase === "draining" ||
  isAllowed(state, "use partials")

const apply = (d: Draft, input: Input): void => {
  if (input._tag === "TranscriptFailed") Problems.transcriptFailed(d, input)
  else if (input._tag === "ProviderWarned") Problems.providerWarned(d, input)
  else if (input._tag === "RecordingFailed") Problems.warn(d, "recording", input.reason)
  else if (input._tag === "TimerFired") Timers.onFired(d, input.timer)
  else if (d.state.phase === "draining") Ending.onDraining(d, input)
  else if (d.state.phase === "post_call") PostCall.apply(d, input)
  else applyToCall(d, input)
}

/** Inputs that have an effect only between the answer and the hang-up, and not after a transfer. */
type AnsweredInput = Exclude<
  Input,
  InputOf<
    | "MenuAnswered"
    | "ConfigAnswered"
    | "ConfigFailed"
    | "Answered"
    | "AnswerFailed"
    | "DialFailed"
    | "CallerHungUp"
    | "LegFailed"
    | "Crashed"
    | "EndRequested"
    | "TimerFired"
    | "TranscriptFailed"
    | "ProviderWarned"
    | "RecordingFailed"
  >
>

/** Applies an input other than a timer before the hang-up. */
const applyToCall = (
  d: Draft,
  input: Exclude<Input, InputOf<"TimerFired" | "TranscriptFailed" | "ProviderWarned" | "RecordingFailed">>
): void => {
  switch (input._tag) {
    case "MenuAnswered":
      Opening.onMenu(d, input)
      return
    case "ConfigAnswered":
      Opening.onConfig(d, input)
      return
    case "ConfigFailed":
      Opening.onConfigFailed(d, input)
      return
    case "Answered":
      Opening.onAnswered(d)
      return
    case "AnswerFailed":
      Opening.onAnswerFailed(d, input)
      return
    case "DialFailed":
      Opening.onDialFailed(d, input)
      return
    case "CallerHungUp":
      Ending.onHungUp(d)
      return
    case "LegFailed":
      Problems.failed(d, "telephony", `the connection to the telephone network failed: ${input.reason}`)
      Ending.over(d, Ending.failed)
      return
    case "Crashed":
      Ending.onCrash(d, input)
      return
    case "EndRequested":
      Ending.onRequested(d, input)
      return
    default:
      if (d.state.answered_at !== null && d.state.phase !== "transferred") applyToAnswered(d, input)
  }
}

const applyToAnswered = (d: Draft, input: AnsweredInput): void => {
  switch (input._tag) {
    case "CallerSpeechStarted":
      Voicemail.onSpeechStarted(d)
      Turn.onSpeechStarted(d, input)
      return
    case "CallerSpeechStopped":
      Turn.onSpeechStopped(d, input)
      Speculation.onFinalOrSilence(d)
      Voicemail.onSpeechStopped(d)
      return
    case "CallerPartial":
      Voicemail.onWords(d, input.text)
      Turn.onWords(d, input.text, false)
      return
    case "CallerFinal":
      if (input.text.trim() !== "") patch(d, { failures: { ...d.state.failures, stt: 0 } })
      Voicemail.onWords(d, input.text)
      Language.onFinal(d, input)
      Turn.onWords(d, input.text, true)
      Speculation.onFinalOrSilence(d)
      return
    case "CallerEndExpected":
      if (!sameWords(input.text, d.state.caller.partial)) Turn.onWords(d, input.text, false)
      // The model needs the passages for these words.
      if (Speculation.expectEnd(d)) Knowledge.onWords(d, spokenWords(d.state))
      return
    case "CallerEndWithdrawn":
      Speculation.withdraw(d)
      return
    case "CallerEndOfTurn":
      patch(d, { unrecognized_ms: 0 })
      Turn.onRecognizedEnd(d)
      return
    case "RecognizerOpened":
      patch(d, { session_endpointing: input.endpointing })
      return
    case "RecognizerFailed":
      Failures.onSttFailed(d, input)
      return
    case "Dtmf":
      Speculation.withdraw(d)
      Keypad.onDigit(d, input.digit)
      return
    case "GatherRequested":
      Gather.onRequested(d, input)
      return
    case "TransferRequested":
      Transfer.onRequested(d, input)
      return
    case "TransferProgressed":
      Transfer.onProgress(d, input)
      return
    case "AnswererReported":
      Voicemail.onReported(d, input)
      return
    case "BeepHeard":
      Voicemail.onBeep(d)
      return
    case "ModelStarted":
      Model.onStarted(d, input)
      return
    case "ModelSentence":
      Model.onSentence(d, input)
      return
    case "ModelToolCalls":
      if (!Model.acceptsCalls(d, input)) return
      if (Tools.invoke(d, input) !== null) Ending.begin(d, "agent-hangup", { finishSpeech: true })
      else Voicemail.onModelReport(d, input)
      return
    case "ModelDone":
      Failures.onModel(d, Model.onDone(d, input))
      return
    case "ModelFailed":
      Failures.onModel(d, Model.onFailed(d, input))
      return
    case "SpeechStarted":
      Speech.onStarted(d, input)
      return
    case "SpeechPlayed":
      Speech.onPlayed(d, input)
      return
    case "SpeechFailed":
      Failures.onSpeechFailed(d, input)
      return
    case "SpeechCleared":
      Speech.onCleared(d, input)
      if (!Failures.onCleared(d)) Turn.onCleared(d)
      return
    case "Summarized":
      History.onSummarized(d, input)
      return
    case "SummaryFailed":
      History.onSummaryFailed(d, input)
      return
    case "ToolAnswered":
      Tools.onAnswered(d, input)
      return
    case "ToolFailed":
      Tools.onFailed(d, input)
      return
    case "KnowledgeFound":
      if (input.purpose === "tool") Tools.onFound(d, input)
      else if (Knowledge.onFound(d, input)) Model.continueAfterTools(d)
      return
    case "KnowledgeFailed":
      if (input.purpose === "tool") Tools.onFailed(d, input)
      else if (Knowledge.onFailed(d, input)) Model.continueAfterTools(d)
      return
    // These have an effect only after the hang-up.
    case "RecognizerFinished":
    case "Extracted":
    case "ExtractionFailed":
    case "PostCallSmsDone":
    // Taken before; see step.
    case "ModelUsed":
    case "MediaReported":
      return
    default:
      input satisfies never
  }
}
