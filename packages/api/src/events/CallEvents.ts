import { Schema } from "effect"
import { Disposition, EndedReason, TranscriptTurn } from "../calls/Call.ts"
import { CallFailure } from "../calls/CallFailure.ts"
import { CallLine, CallUsage } from "../calls/CallUsage.ts"
import { Json, JsonObject } from "../Wire.ts"
import { call, from, parties, when } from "./EventFields.ts"

const tool = { ...call, tool_name: Schema.String, tool_call_id: Schema.String }

/** A result that JSON can carry: `undefined` would leave the field out. */
const result = Json.pipe(Schema.filter((value): boolean => value !== undefined))

/** `data` of call, speech and tool events. Money is EUR. */
export const callEventData = {
  "call.ringing": Schema.Struct({ ...call, ...parties }),
  "call.started": Schema.Struct({ ...call, ...parties }),
  "call.ended": Schema.Struct({
    ...call,
    ...parties,
    started_at: when,
    ended_at: when,
    duration_seconds: Schema.Int,
    minutes_used: Schema.Finite,
    call_cost: Schema.Finite,
    recording_cost: Schema.Finite,
    transfer_cost: Schema.Finite,
    llm_discount: Schema.Finite,
    total_cost: Schema.Finite,
    rate_per_minute: Schema.Finite,
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
    transcript: Schema.Array(TranscriptTurn),
    /** Why the call failed; null when it did not. */
    failure: Schema.NullOr(CallFailure),
    usage: CallUsage,
    line: CallLine,
    /** EUR, part of `total_cost`; absent when the models cost nothing. */
    llm_cost: Schema.optionalWith(Schema.Finite, { exact: true })
  }),
  "call.failed": Schema.Struct({
    ...call,
    ...parties,
    ended_reason: Schema.NullOr(EndedReason),
    /** Null when nothing was wrong: canceled, busy, not answered. */
    failure: Schema.NullOr(CallFailure)
  }),
  "call.recording_ready": Schema.Struct({
    ...call,
    /** Valid for 24 hours. */
    recording_url: Schema.String,
    recording_expires_at: when
  }),
  "call.dtmf.received": Schema.Struct({
    ...call,
    digit: Schema.String.pipe(Schema.pattern(/^[0-9*#]$/)),
    /** The purpose of the digit: `gather`, a name of `dtmf_actions`, or `unmapped`. */
    action: Schema.String
  }),
  "call.gather.completed": Schema.Struct({
    ...call,
    status: Schema.Literal("completed", "timeout"),
    input: Schema.NullOr(Schema.String)
  }),
  "transcript.updated": Schema.Struct({
    ...call,
    ...from,
    turn: Schema.Struct({ role: Schema.Literal("user", "assistant"), content: Schema.String }),
    turn_index: Schema.NonNegativeInt
  }),
  "speech.started": Schema.Struct({ ...call, ...from, timestamp: when }),
  "speech.ended": Schema.Struct({ ...call, ...from, timestamp: when, transcript: Schema.NullOr(Schema.String) }),
  "ai.speech.started": Schema.Struct({ ...call, text: Schema.NullOr(Schema.String), timestamp: when }),
  "ai.speech.ended": Schema.Struct({
    ...call,
    text: Schema.NullOr(Schema.String),
    timestamp: when,
    duration_ms: Schema.NullOr(Schema.Int)
  }),
  barge_in: Schema.Struct({
    ...call,
    ...from,
    user_text: Schema.NullOr(Schema.String),
    interrupted_text: Schema.NullOr(Schema.String),
    timestamp: when
  }),
  "tool.invoked": Schema.Struct({ ...tool, arguments: JsonObject }),
  "tool.completed": Schema.Struct({ ...tool, result }),
  "tool.timeout": Schema.Struct({ ...tool, timeout_seconds: Schema.Finite })
} as const
