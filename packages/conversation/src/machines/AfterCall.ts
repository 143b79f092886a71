import { E164 } from "@svc/api/Wire"
import { Schema } from "effect"
import { extractedFrom } from "../answers/ExtractedValues.ts"
import { filled, tooLong } from "../answers/PostCallSms.ts"
import type { Outcome } from "../Command.ts"
import { command, type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import type { Input } from "../Input.ts"
import * as Messages from "../ModelMessages.ts"
import type { Conversation } from "../State.ts"

/**
 * What is owed when nobody is on the line any more: the values of the extraction schema, then the message after the call
 *. Nothing of it can change how the call ended, nor hold up its record for long.
 *
 * | stage | on | then |
 * |---|---|---|
 * | – | the call is over, was answered, and has a schema and a transcript | extracting: the model is asked |
 * | extracting | its answer, its failure, or {@link extractionMs} over | the values are kept, or all are null |
 * | – | a message is configured | texting |
 * | texting | sent, failed, or {@link textingMs} over | over |
 * | any | the process stops or fails | over |
 */

/** The longest that the values of a call may take: with the wait for the last words, 10 s from its end. */
export const extractionMs = 8_500
/** The longest that its record waits for the message to be taken. It goes on by itself. */
export const textingMs = 3_000
/** The same for both when the process is about to stop. */
const stoppingMs = 1_000

const isE164 = Schema.is(E164)

/** Whole seconds from the answer to the end, or to the moment at which the caller was transferred. */
export const durationOf = ({ answered_at, ended_at, transferred }: Conversation): number => {
  const until = transferred?.at ?? ended_at
  return answered_at === null || until === null ? 0 : Math.max(0, Math.round((until - answered_at) / 1000))
}

/** The call is over, and `outcome` stays. */
export const begin = (d: Draft, outcome: Outcome): void => {
  patch(d, { phase: "after", outcome, after: "extracting" })
  const fields = d.state.config?.extraction ?? null
  if (fields === null || d.state.answered_at === null || d.state.transcript.length === 0) {
    text(d)
    return
  }
  command(d, { _tag: "Extract", messages: Messages.extraction(d.state), fields })
  startTimer(d, "extraction", d.state.stopping ? stoppingMs : extractionMs)
}

/** The call is over, and nothing more can be done for it. */
export const skip = (d: Draft, outcome: Outcome): void => {
  patch(d, { outcome })
  finish(d)
}

/** The last step of every call; what is still going on is not waited for. */
export const finish = (d: Draft): void => {
  for (const timer of ["extraction", "post_call_sms"] as const) stopTimer(d, timer)
  patch(d, { phase: "over", after: null })
  if (d.state.outcome !== null) command(d, { _tag: "Finish", ...d.state.outcome })
}

const text = (d: Draft): void => {
  stopTimer(d, "extraction")
  patch(d, { after: "texting" })
  const { answered_at, config, facts } = d.state
  const sms = config?.post_call_sms ?? null
  if (sms === null || answered_at === null) {
    finish(d)
    return
  }
  const message = filled(sms.message, { call_id: facts.call_id, duration_seconds: durationOf(d.state) })
  // The other side, also when it is we who called.
  const to = sms.to !== "caller" ? sms.to : facts.outbound === undefined ? facts.from : facts.to
  if (!isE164(to) || tooLong(message)) {
    const why = isE164(to) ? "it is too long with its variables filled in" : "the caller's number is not known"
    command(d, { _tag: "Note", text: `the message after the call was not sent: ${why}` })
    finish(d)
    return
  }
  command(d, { _tag: "SendSms", id: "post_call", to, message, sender_name: sms.sender_name })
  startTimer(d, "post_call_sms", d.state.stopping ? stoppingMs : textingMs)
}

/** What still matters once the call is over. */
export const apply = (d: Draft, input: Input): void => {
  const { after } = d.state
  switch (input._tag) {
    case "Extracted":
      if (after !== "extracting") return
      patch(d, { extracted: extractedFrom(d.state.config?.extraction ?? [], input.answer) })
      text(d)
      return
    case "ExtractionFailed":
      if (after === "extracting") text(d)
      return
    case "PostCallSmsDone":
      if (after === "texting") finish(d)
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
  text(d)
}

export const onSmsTimer = (d: Draft): void => {
  command(d, { _tag: "Note", text: "the message after the call was not taken in time" })
  finish(d)
}
