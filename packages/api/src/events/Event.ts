import { Either, ParseResult, Schema } from "effect"
import { bookingEventData } from "../bookings/BookingEvents.ts"
import { AgentId, type CallId, EventId } from "../Ids.ts"
import { JsonObject, Timestamp } from "../Wire.ts"
import { addressEventData } from "./AddressEvents.ts"
import { callEventData } from "./CallEvents.ts"
import { knowledgeBaseEventData } from "./KnowledgeBaseEvents.ts"
import { smsEventData } from "./SmsEvents.ts"
import { transferEventData } from "./TransferEvents.ts"

/** Events: one schema of `data` per event name, with ISO 8601 timestamps. See docs/reference/events.md. */

/** Version of the event payloads. */
export const apiVersion = "2026-11-01"

/** `data` of each event, by event name. */
export const eventData = {
  ...callEventData,
  ...transferEventData,
  ...smsEventData,
  ...knowledgeBaseEventData,
  ...addressEventData,
  ...bookingEventData
} as const

export type EventData = { readonly [N in keyof typeof eventData]: (typeof eventData)[N]["Type"] }
export type EventName = keyof EventData

/** An event about to be appended to the outbox: its name, its data and its owner. */
export type EventDraft = {
  readonly [N in EventName]: {
    readonly event: N
    readonly org_id: number
    readonly project_id: number | null
    readonly agent_id: AgentId | null
    /** The call whose history shows the event's deliveries. */
    readonly call_id: CallId | null
    /** When it happened, ISO 8601. */
    readonly timestamp: string
    readonly data: EventData[N]
  }
}[EventName]

const checks = new Map(
  Object.entries<Schema.Schema.AnyNoContext>(eventData).map(([name, schema]) => [
    name,
    ParseResult.validateEither(schema, { onExcessProperty: "error" })
  ])
)

/**
 * The violations of an event's schema, one line each with its path and no values; undefined when its data has exactly
 * the fields of its schema. The types say the same, but numbers that are none, and data from outside, pass them.
 */
export const schemaViolationOf = ({
  data,
  event
}: {
  readonly event: string
  readonly data: unknown
}): string | undefined => {
  const check = checks.get(event)
  if (check === undefined) return `${event} is not an event`
  return Either.match(check(data), {
    onRight: () => undefined,
    onLeft: (issue) =>
      ParseResult.ArrayFormatter.formatIssueSync(issue)
        .map(({ _tag, path }) => `${["data", ...path.map(String)].join(".")} (${_tag})`)
        .join("\n")
  })
}

/** The envelope of a delivered event. */
export const Envelope = Schema.Struct({
  id: EventId,
  event: Schema.String,
  timestamp: Timestamp,
  api_version: Schema.String,
  org_id: Schema.Int,
  project_id: Schema.NullOr(Schema.Int),
  agent_id: Schema.NullOr(AgentId),
  data: JsonObject
}).annotations({ identifier: "Event" })
export type Envelope = typeof Envelope.Type
