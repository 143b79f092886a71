import { Schema } from "effect"
import { Envelope } from "../events/Event.ts"
import { EventId } from "../Ids.ts"
import { Limit, Timestamp } from "../Wire.ts"

/** One attempt to deliver an event: each attempt has its own record. */
export const DeliveryRecord = Schema.Struct({
  id: Schema.Int,
  event: Schema.String.annotations({ examples: ["call.ended"] }),
  event_id: EventId,
  url: Schema.String.annotations({ examples: ["https://example.com/events"] }),
  attempt: Schema.Int.annotations({ description: "From 1", examples: [1] }),
  status_code: Schema.NullOr(Schema.Int).annotations({
    description: "Null when there was no answer",
    examples: [200]
  }),
  success: Schema.Boolean,
  error: Schema.NullOr(Schema.String).annotations({ examples: [null] }),
  created_at: Timestamp
}).annotations({ identifier: "DeliveryRecord" })
export type DeliveryRecord = typeof DeliveryRecord.Type

/** A delivery that failed every attempt. */
export const DeadLetter = Schema.Struct({
  id: Schema.Int,
  event: Schema.String.annotations({ examples: ["call.ended"] }),
  event_id: EventId,
  url: Schema.String.annotations({ examples: ["https://example.com/events"] }),
  attempts: Schema.Int.annotations({ examples: [4] }),
  last_status_code: Schema.NullOr(Schema.Int).annotations({ examples: [503] }),
  last_error: Schema.NullOr(Schema.String).annotations({ examples: ["status 503"] }),
  payload: Envelope,
  failed_at: Timestamp
}).annotations({ identifier: "DeadLetter" })
export type DeadLetter = typeof DeadLetter.Type

/** Query of the lists of deliveries and dead letters: newest first, `after` is the id of the last one seen. */
export const DeliveriesQuery = Schema.Struct({
  limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
  after: Schema.optional(Schema.String)
})
export type DeliveriesQuery = typeof DeliveriesQuery.Type

export const DeliveriesPage = Schema.Struct({
  deliveries: Schema.Array(DeliveryRecord),
  next_cursor: Schema.NullOr(Schema.String)
}).annotations({ identifier: "DeliveriesPage" })
export type DeliveriesPage = typeof DeliveriesPage.Type

export const DeadLettersPage = Schema.Struct({
  items: Schema.Array(DeadLetter),
  next_cursor: Schema.NullOr(Schema.String)
}).annotations({ identifier: "DeadLettersPage" })
export type DeadLettersPage = typeof DeadLettersPage.Type

/** Result of a test delivery. */
export const TestResult = Schema.Struct({
  success: Schema.Boolean,
  status_code: Schema.NullOr(Schema.Int).annotations({ examples: [200] }),
  error: Schema.NullOr(Schema.String).annotations({ examples: [null] }),
  delivery_id: Schema.Int
}).annotations({ identifier: "WebhookTestResult" })
export type TestResult = typeof TestResult.Type

/** How many deliveries were queued. */
export const Queued = Schema.Struct({ queued: Schema.Int }).annotations({ identifier: "Queued" })
export type Queued = typeof Queued.Type
