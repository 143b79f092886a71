import { E164 } from "@svc/api/Wire"
import { Schema } from "effect"
import { extractedFrom } from "../answers/ExtractedValues.ts"
import { filled, tooLong } from "../answers/PostCallSms.ts"
import type { Outcome } from "../Command.ts"
import { command, type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import type { Input } from "../Input.ts"
import * as Messages from "../ModelMessages.ts"
import type { Conversation } from "../State.ts"
import * as Problems from "./Problems.ts"

/**
 * The work after the hang-up: the extraction, then `post_call_sms`. It cannot change the outcome of the call, and
 * delays the record only up to its time limits.
 *
 * | stage | on | then |
 * |---|---|---|
 * | – | the call was answered, and has an extraction schema and a transcript | extracting: the model is asked |
 * | extracting | its answer, its failure, or {@link extractionMs} | the data is kept, or all values are null |
 * | – | `post_call_sms` is configured | texting |
 * | texting | sent, failed, or {@link textingMs} | over |
 * | any | the process stops or fails | over |
 */

/** Time limit of the extraction: together with the draining phase, 10 s from the end of the call. */
export const extractionMs = 8_500
/** How long the record waits until the network accepts the message. Sending continues in the background. */
export const textingMs = 3_000
/** Both time limits when the process is about to stop. */
const stoppingMs = 1_000

const isE164 = Schema.is(E164)

/** Whole seconds from the answer to the end or to the transfer. */
export const durationOf = ({ answered_at, ended_at, transferred }: Conversation): number => {
  const until = transferred?.at ?? ended_at
  return answered_at === null || until === null ? 0 : Math.max(0, Math.round((until - answered_at) / 1000))
}

/** Starts the work after the hang-up. `outcome` is final. */
export const begin = (d: Draft, outcome: Outcome): void => {
  patch(d, { phase: "post_call", outcome, post_call: "extracting" })
  const fields = d.state.config?.extraction ?? null
  if (fields === null || d.state.answered_at === null || d.state.transcript.length === 0) {
    sendSms(d)
    return
  }
  command(d, { _tag: "Extract", messages: Messages.extraction(d.state), fields })
  startTimer(d, "extraction", d.state.stopping ? stoppingMs : extractionMs)
}

/** Ends the call without any work after the hang-up. */
export const skip = (d: Draft, outcome: Outcome): void => {
  patch(d, { outcome })
  finish(d)
}

/** Ends the conversation, without waiting for work in progress. */
export const finish = (d: Draft): void => {
  for (const timer of ["extraction", "post_call_sms"] as const) stopTimer(d, timer)
  patch(d, { phase: "over", post_call: null })
  if (d.state.outcome !== null) command(d, { _tag: "Finish", ...d.state.outcome })
}

const notSent = (d: Draft, why: string): void => Problems.warn(d, "post_call.sms", `the message was not sent: ${why}`)

const sendSms = (d: Draft): void => {
  stopTimer(d, "extraction")
  patch(d, { post_call: "texting" })
  const { answered_at, config, facts } = d.state
  const sms = config?.post_call_sms ?? null
  if (sms === null || answered_at === null) {
    finish(d)
    return
  }
  const message = filled(sms.message, { call_id: facts.call_id, duration_seconds: durationOf(d.state) })
  // The caller, who is `to` of an outbound call.
  const to = sms.to !== "caller" ? sms.to : facts.outbound === undefined ? facts.from : facts.to
  if (!isE164(to) || tooLong(message)) {
    const why = isE164(to) ? "it is too long with its variables filled in" : "the caller's number is not known"
    command(d, { _tag: "Note", text: `the message after the call was not sent: ${why}` })
    notSent(d, why)
    finish(d)
    return
  }
  command(d, { _tag: "SendSms", id: "post_call", to, message, sender_name: sms.sender_name })
  startTimer(d, "post_call_sms", d.state.stopping ? stoppingMs : textingMs)
}

/** Applies an input after the hang-up. */
export const apply = (d: Draft, input: Input): void => {
  const { post_call } = d.state
  switch (input._tag) {
    case "Extracted":
      if (post_call !== "extracting") return
      patch(d, { extracted: extractedFrom(d.state.config?.extraction ?? [], input.answer) })
      sendSms(d)
      return
    case "ExtractionFailed":
      if (post_call !== "extracting") return
      Problems.warn(d, "language-model", `no data was extracted: ${input.reason}`)
      sendSms(d)
      return
    case "PostCallSmsDone":
      if (post_call !== "texting") return
      if (input.failed !== null) notSent(d, input.failed)
      finish(d)
      return
    case "EndRequested":
      if (input.by === "shutdown") finish(d)
      return
    case "Crashed":
      finish(d)
      return
  }
}

export const onExtractionTimer = (d: Draft): void => {
  command(d, { _tag: "Note", text: "the values of the call did not come in time" })
  Problems.warn(d, "language-model", "no data was extracted: the model did not answer in time")
  sendSms(d)
}

export const onSmsTimer = (d: Draft): void => {
  command(d, { _tag: "Note", text: "the message after the call was not taken in time" })
  notSent(d, "the network did not accept it in time")
  finish(d)
}
