import { JSONSchema, Schema } from "effect"

/** Every event that a webhook can name, in the order of the error message that lists them. */
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

/** Events of booking customers, which only webhooks of the organization get. */
export const bookingEvents = [
  "booking_customer.created",
  "booking_customer.updated",
  "booking_customer.deleted",
  "booking_customer.restored"
] as const

const unknown = (field: string, names: ReadonlyArray<string>) => () => ({
  message: `${field} has an unknown event; valid are ${names.join(", ")}`,
  override: true
})

/** The most names in one list, repeated ones included. There are about thirty. */
const maxNames = 100

/**
 * Names of events in the body field `field`: at least one; one that is unknown is answered with all valid ones. Of several
 * unknown names only the first is reported, so that the message of the error is the one that lists the names.
 */
const eventNames = <const Names extends readonly [string, ...Array<string>]>(
  field: string,
  names: Names,
  listed: ReadonlyArray<string> = names
) => {
  const list = Schema.Array(Schema.Literal(...names).annotations({ message: unknown(field, listed) }))
    .annotations({ parseOptions: { errors: "first" } })
    .pipe(Schema.minItems(1, { message: () => `${field} must not be empty` }))
    .annotations({ examples: [["call.started", "call.ended"]] })
  const { $schema: _, ...jsonSchema } = JSONSchema.make(list)
  // The length is checked before the names.
  return Schema.Array(Schema.Unknown)
    .pipe(
      Schema.maxItems(maxNames, { message: () => `${field} cannot exceed ${maxNames} entries` }),
      Schema.compose(list, { strict: false })
    )
    .annotations({ jsonSchema: { ...jsonSchema, maxItems: maxNames }, examples: [["call.started", "call.ended"]] })
}

/** `webhook_events` of an agent. `*` means all, also those that come with later releases. */
export const WebhookEvents = eventNames("webhook_events", [...webhookEvents, "*"], webhookEvents)

/** `webhook_events` of a project: no `*`. */
export const ProjectWebhookEvents = eventNames("webhook_events", webhookEvents)

/** `events` of a webhook of the organization. */
export const OrganizationEvents = eventNames("events", [...webhookEvents, ...bookingEvents, "*"])

/** `event_type` of a test delivery: which event's sample is sent. */
const EventType = <const Names extends readonly [string, ...Array<string>]>(names: Names) =>
  Schema.Literal(...names).annotations({ message: unknown("event_type", names), examples: [names[0]] })

export const ProjectEventType = EventType(webhookEvents)
export const OrganizationEventType = EventType([...webhookEvents, ...bookingEvents])
