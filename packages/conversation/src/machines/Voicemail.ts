import type { Outcome } from "../Command.ts"
import { type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import { soundsLikeVoicemail } from "../phrases/VoicemailGreetings.ts"
import { isRunning } from "../State.ts"
import * as Ending from "./Ending.ts"
import * as Problems from "./Problems.ts"
import * as Tools from "./Tools.ts"
import * as Turn from "./Turn.ts"

/**
 * Whether a person or a voicemail took an outbound call, and the message for the voicemail.
 *
 * | state | on | then |
 * |---|---|---|
 * | unknown | words of a voicemail, a first speech of {@link greetingMs}, the model or the carrier reports it | machine: the agent is silent |
 * | unknown, machine | a beep | the message is left |
 * | machine | {@link silenceMs} of silence | the message is left: there was no beep, or it was not detected |
 * | machine | {@link maxWaitMs} | the message is left anyway |
 * | unknown | {@link decisionMs} after the answer, the carrier reports a human | person |
 * | unknown | the carrier reports a fax machine | machine: the call is hung up, without a message |
 *
 * The first decision counts, ours or the carrier's. A call for which the agent's server gave no `voicemail_message` is hung
 * up as soon as a voicemail is detected. Until the configuration arrives the agent waits, within the same time limits.
 */

/** First speech of this length is a voicemail's greeting: a person's is shorter. */
export const greetingMs = 7_000
/** A voicemail that is silent for this long waits for the message. */
export const silenceMs = 2_500
/** The longest wait for the end of a voicemail's greeting. */
export const maxWaitMs = 40_000
/** Without signs of a voicemail until then, a person took the call. */
export const decisionMs = 30_000
/** Time limit of the message. */
const messageMs = 120_000

const outcome: Outcome = { status: "completed", disposition: "voicemail", ended_reason: "agent-hangup" }

const isUnknown = (d: Draft): boolean => d.state.voicemail === "unknown"

const isFirstTurn = (d: Draft): boolean => !d.state.entries.some((e) => e.kind === "caller")

export const onSpeechStarted = (d: Draft): void => {
  stopTimer(d, "voicemail_silence")
  if (isUnknown(d) && isFirstTurn(d) && !isRunning(d.state, "voicemail_greeting"))
    startTimer(d, "voicemail_greeting", greetingMs)
}

export const onSpeechStopped = (d: Draft): void => {
  if (d.state.voicemail === "machine" && d.state.phase === "live") startTimer(d, "voicemail_silence", silenceMs)
}

/** Words of the other side; called before the turn machine gets them. */
export const onWords = (d: Draft, words: string): void => {
  if (isUnknown(d) && soundsLikeVoicemail([...d.state.caller.words, words].join(" "))) onDetected(d)
}

export const onBeep = (d: Draft): void => {
  if (d.state.voicemail !== "unknown" && d.state.voicemail !== "machine") return
  onDetected(d, true)
  // Before the configuration there is no message yet: see onOpened.
  if (d.state.phase === "live") leaveMessage(d)
  else stopTimer(d, "voicemail_patience")
}

/** The carrier reported who took the call. A fax machine is one more machine, which takes no message. */
export const onReported = (d: Draft, { verdict }: InputOf<"AnswererReported">): void => {
  if (!isUnknown(d)) return
  switch (verdict) {
    case "human":
      onPerson(d)
      return
    case "machine":
      onDetected(d)
      return
    case "fax":
      onFax(d)
      return
    case "unknown":
      return
  }
}

/** The model reported a voicemail by its tool. */
export const onModelReport = (d: Draft, input: InputOf<"ModelToolCalls">): void => {
  if (isUnknown(d) && input.calls.some(({ name }) => name === Tools.voicemailTool)) onDetected(d)
}

/** There were no signs of a voicemail for long enough. */
export const onDecisionTimer = (d: Draft): void => onPerson(d)

/** A person took the call, as far as is known. */
const onPerson = (d: Draft): void => {
  if (isUnknown(d)) patch(d, { voicemail: "person" })
  for (const timer of ["voicemail_doubt", "voicemail_greeting"] as const) stopTimer(d, timer)
}

const onFax = (d: Draft): void => {
  patch(d, { voicemail: "machine" })
  for (const timer of ["voicemail_doubt", "voicemail_greeting"] as const) stopTimer(d, timer)
  Problems.warn(d, "telephony", "a fax machine took the call, as the carrier reports: the call was hung up")
  Ending.begin(d, "agent-hangup", { outcome, message: null })
}

/** The first speech was too long for a person. */
export const onGreetingTimer = (d: Draft): void => {
  if (d.state.caller.speaking && isFirstTurn(d)) onDetected(d)
}

/** A voicemail took the call: the agent is silent until it may leave its message. `beeped`: at once. */
const onDetected = (d: Draft, beeped = false): void => {
  if (!isUnknown(d)) return
  patch(d, { voicemail: "machine" })
  for (const timer of ["voicemail_doubt", "voicemail_greeting"] as const) stopTimer(d, timer)
  if (d.state.phase === "connected" || d.state.phase === "menu") {
    if (!beeped) startTimer(d, "voicemail_patience", maxWaitMs)
    return
  }
  if (d.state.phase !== "live") return
  Turn.silenceAgent(d)
  Tools.cancelAll(d)
  if ((d.state.config?.voicemail_message ?? null) === null) {
    leaveMessage(d)
    return
  }
  startTimer(d, "voicemail_patience", maxWaitMs)
  if (!d.state.caller.voice_active) startTimer(d, "voicemail_silence", silenceMs)
}

/**
 * The configuration has arrived in a call that a voicemail took. The message is left now if the beep has come or the time
 * limit is over, otherwise after the beep or a silence. Without a message the call is hung up.
 */
export const onOpened = (d: Draft): void => {
  const isWaiting = isRunning(d.state, "voicemail_patience") && (d.state.config?.voicemail_message ?? null) !== null
  if (!isWaiting) leaveMessage(d)
  else if (!d.state.caller.voice_active) startTimer(d, "voicemail_silence", silenceMs)
}

/** Speaks the message, if there is one, and hangs up. */
export const leaveMessage = (d: Draft): void => {
  if (d.state.phase !== "live") return
  for (const timer of ["voicemail_silence", "voicemail_patience"] as const) stopTimer(d, timer)
  const message = d.state.config?.voicemail_message ?? null
  Ending.begin(d, "agent-hangup", { outcome, message, limitMs: messageMs })
}
