import { Schema } from "effect"
import { bookingEventData } from "../bookings/BookingEvents.ts"
import { Disposition, EndedReason, TranscriptTurn } from "../calls/Call.ts"
import { AgentId, CallId, EventId } from "../Ids.ts"
import { Json, JsonObject, Timestamp } from "../Wire.ts"
import { smsEventData } from "./SmsEvents.ts"

/** Events (spec 6.2, 6.3): one schema of `data` per event name. Timestamps inside `data` are ISO 8601. */

/** Version of the event payloads (decisions §1.9). */
export const apiVersion = "2026-11-01"

const call = { call_id: CallId, agent_id: Schema.NullOr(AgentId) }
const from = { from: Schema.NullOr(Schema.String) }
const parties = { from: Schema.NullOr(Schema.String), to: Schema.NullOr(Schema.String) }
const tool = { ...call, tool_name: Schema.String, tool_call_id: Schema.String }

/** `data` of each event, by event name. */
export const eventData = {
  "call.ringing": Schema.Struct({ ...call, ...parties }),
  "call.started": Schema.Struct({ ...call, ...parties }),
  "call.ended": Schema.Struct({
    ...call,
    ...parties,
    started_at: Timestamp,
    ended_at: Timestamp,
    duration_seconds: Schema.Int,
    minutes_used: Schema.Number,
    call_cost: Schema.Number,
    recording_cost: Schema.Number,
    transfer_cost: Schema.Number,
    llm_discount: Schema.Number,
    total_cost: Schema.Number,
    rate_per_minute: Schema.Number,
    disposition: Schema.NullOr(Disposition),
    ended_reason: Schema.NullOr(EndedReason),
    ws_unavailable: Schema.Boolean,
    transferred_to: Schema.NullOr(Schema.String),
    metadata: JsonObject,
    language: Schema.String,
    turn_count: Schema.Int,
    tool_call_count: Schema.Int,
    tools_called: Schema.Array(Schema.String),
    extracted_data: JsonObject,
    transcript: Schema.Array(TranscriptTurn)
  }),
  "call.failed": Schema.Struct({ ...call, ...parties, ended_reason: Schema.NullOr(EndedReason) }),
  "call.recording_ready": Schema.Struct({
    ...call,
    /** Good for 24 hours. */
    recording_url: Schema.String,
    recording_expires_at: Timestamp
  }),
  "call.dtmf.received": Schema.Struct({ ...call, digit: Schema.String, action: Schema.String }),
  "call.gather.completed": Schema.Struct({
    ...call,
    status: Schema.Literal("completed", "timeout"),
    input: Schema.NullOr(Schema.String)
  }),
  "transcript.updated": Schema.Struct({
    ...call,
    ...from,
    turn: Schema.Struct({ role: Schema.Literal("user", "assistant"), content: Schema.String }),
    turn_index: Schema.Int
  }),
  "speech.started": Schema.Struct({ ...call, ...from, timestamp: Timestamp }),
  "speech.ended": Schema.Struct({ ...call, ...from, timestamp: Timestamp, transcript: Schema.NullOr(Schema.String) }),
  "ai.speech.started": Schema.Struct({ ...call, text: Schema.NullOr(Schema.String), timestamp: Timestamp }),
  "ai.speech.ended": Schema.Struct({
    ...call,
    text: Schema.NullOr(Schema.String),
    timestamp: Timestamp,
    duration_ms: Schema.NullOr(Schema.Int)
  }),
  barge_in: Schema.Struct({
    ...call,
    ...from,
    user_text: Schema.NullOr(Schema.String),
    interrupted_text: Schema.NullOr(Schema.String),
    timestamp: Timestamp
  }),
  "tool.invoked": Schema.Struct({ ...tool, arguments: JsonObject }),
  "tool.completed": Schema.Struct({ ...tool, result: Json }),
  "tool.timeout": Schema.Struct({ ...tool, timeout_seconds: Schema.Number }),
  ...smsEventData,
  ...bookingEventData
} as const

export type EventData = { readonly [N in keyof typeof eventData]: (typeof eventData)[N]["Type"] }
export type EventName = keyof EventData

/** An event about to be appended to the outbox: a name with exactly its data, and whose it is. */
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

/** The envelope that receivers get (spec 6.2). */
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
