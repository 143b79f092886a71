import type { Outcome } from "../Command.ts"
import { type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import { soundsLikeVoicemail } from "../phrases/VoicemailGreetings.ts"
import { isRunning } from "../State.ts"
import * as Ending from "./Ending.ts"
import * as Tools from "./Tools.ts"
import * as Turn from "./Turn.ts"

/**
 * Whether a person or a machine took a call that we placed, and the message that is left.
 *
 * | we think | on | then |
 * |---|---|---|
 * | unknown | words of a voicemail, a first speech of {@link greetingMs}, the model says so | machine: the agent is silent |
 * | unknown, machine | a beep | the message is left |
 * | machine | {@link silenceMs} of silence | the message is left: it did not beep, or we did not hear it |
 * | machine | {@link patienceMs} | the message is left all the same |
 * | unknown | {@link doubtMs} after the answer | person |
 *
 * A call for which the agent's server gave no `voicemail_message` is hung up as soon as a machine is recognized.
 */

/** A first speech of a person is shorter. */
export const greetingMs = 7_000
/** A machine that says nothing for so long is waiting for the message. */
export const silenceMs = 2_500
/** The longest that we wait for a machine to let us speak. */
export const patienceMs = 40_000
/** Who has not been recognized as a machine by then is a person. */
export const doubtMs = 30_000
/** The longest that the message may take. */
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

/** Words of the other side; called before they are taken as anything else. */
export const onWords = (d: Draft, words: string): void => {
  if (isUnknown(d) && soundsLikeVoicemail([...d.state.caller.words, words].join(" "))) recognize(d)
}

export const onBeep = (d: Draft): void => {
  if (d.state.voicemail !== "unknown" && d.state.voicemail !== "machine") return
  recognize(d)
  // Without the configuration there is nothing to leave yet: see Opening.
  if (d.state.phase === "live") leaveMessage(d)
}

/** The model called its tool. */
export const onHint = (d: Draft, input: InputOf<"ModelToolCalls">): void => {
  if (isUnknown(d) && input.calls.some(({ name }) => name === Tools.voicemailTool)) recognize(d)
}

/** Nothing sounded like a machine for long enough. */
export const onDoubtTimer = (d: Draft): void => {
  if (isUnknown(d)) patch(d, { voicemail: "person" })
  stopTimer(d, "voicemail_greeting")
}

/** The first speech was too long for a person's. */
export const onGreetingTimer = (d: Draft): void => {
  if (d.state.caller.speaking && isFirstTurn(d)) recognize(d)
}

/** It is a machine: the agent is silent until it may leave its message. */
const recognize = (d: Draft): void => {
  if (!isUnknown(d)) return
  patch(d, { voicemail: "machine" })
  for (const timer of ["voicemail_doubt", "voicemail_greeting"] as const) stopTimer(d, timer)
  if (d.state.phase !== "live") return
  Turn.silenceAgent(d)
  Tools.cancelAll(d)
  if ((d.state.config?.voicemail_message ?? null) === null) {
    leaveMessage(d)
    return
  }
  startTimer(d, "voicemail_patience", patienceMs)
  if (!d.state.caller.voice) startTimer(d, "voicemail_silence", silenceMs)
}

/** Speaks the message, if there is one, and hangs up. */
export const leaveMessage = (d: Draft): void => {
  if (d.state.phase !== "live") return
  for (const timer of ["voicemail_silence", "voicemail_patience"] as const) stopTimer(d, timer)
  const message = d.state.config?.voicemail_message ?? null
  Ending.begin(d, "agent-hangup", { outcome, message, limitMs: messageMs })
}
