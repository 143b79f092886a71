import { Schema } from "effect"

/** Every event that a webhook can name (spec 2.4), in the spec's order. */
export const webhookEvents = [
  "call.ringing",
  "call.started",
  "call.ended",
  "call.failed",
  "call.recording_ready",
  "call.dtmf.received",
  "call.gather.completed",
  "transcript.updated",
  "speech.started",
  "speech.ended",
  "ai.speech.started",
  "ai.speech.ended",
  "barge_in",
  "tool.invoked",
  "tool.completed",
  "tool.timeout",
  "transfer.initiated",
  "transfer.completed",
  "transfer.failed",
  "sms.sent",
  "knowledge_base.refreshed",
  "knowledge_base.refresh_failed",
  "knowledge_base.auto_refresh_disabled",
  "address.verification.pending",
  "address.verification.verified",
  "address.verification.partially_verified",
  "address.verification.rejected",
  "address.verification.expired"
] as const

const unknown = `webhook_events has an unknown event; valid are ${webhookEvents.join(", ")}`

/**
 * `webhook_events` of a body: at least one name; one that is unknown is answered with all valid ones. `*` means all
 * (spec 2.7), also those that come with later releases. Of several wrong ones the first is told, so that the message of
 * the error is the one that lists the names.
 */
export const WebhookEvents = Schema.Array(
  Schema.Literal(...webhookEvents, "*").annotations({ message: () => ({ message: unknown, override: true }) })
)
  .annotations({ parseOptions: { errors: "first" } })
  .pipe(Schema.minItems(1, { message: () => "webhook_events must not be empty" }))
  .annotations({ examples: [["call.started", "call.ended"]] })
