import { Schema } from "effect"
import { AgentId, CallId } from "../Ids.ts"
import { define } from "../VoiceError.ts"
import { JsonObject, Timestamp } from "../Wire.ts"
import { CallFailure, CallWarning } from "./CallFailure.ts"
import { CallLine, CallUsage } from "./CallUsage.ts"

/** See docs/reference/calls.md. */
export const CallStatus = Schema.Literal(
  "ringing",
  "in-progress",
  "completed",
  "failed",
  "busy",
  "no-answer",
  "canceled",
  "rejected"
)
export type CallStatus = typeof CallStatus.Type

export const Disposition = Schema.Literal(
  "answered",
  "no-answer",
  "transferred",
  "busy",
  "failed",
  "voicemail",
  "rejected"
)
export type Disposition = typeof Disposition.Type

/** `max-duration` is accepted as a filter only; the stored value is `timeout`. */
export const EndedReason = Schema.Literal(
  "agent-hangup",
  "caller-hangup",
  "api",
  "transfer",
  "timeout",
  "silence-timeout",
  "error"
)
export type EndedReason = typeof EndedReason.Type
/** The values of the filter of a list. */
export const EndedReasonFilter = Schema.Literal(...EndedReason.literals, "max-duration")

/**
 * One turn of a transcript: the words of the caller, or the words of the agent that were played. `timestamp` is seconds
 * from the call's start.
 */
export const TranscriptTurn = Schema.Struct({
  role: Schema.Literal("assistant", "user"),
  content: Schema.String,
  timestamp: Schema.Number
}).annotations({ identifier: "TranscriptTurn" })
export type TranscriptTurn = typeof TranscriptTurn.Type

/** Absent in calls of releases that did not measure it. */
const addedLater = Schema.optionalWith(Schema.NullOr(Schema.Number), { default: () => null })

/**
 * Latency of one agent turn, in milliseconds; null where the stage did not happen. `ts` is seconds from the call's
 * start.
 */
export const TurnLatency = Schema.Struct({
  turn: Schema.Int,
  ts: Schema.Number,
  /** Request to the model → its first token. */
  llm_ttfb_ms: Schema.NullOr(Schema.Number),
  /** Request to the model → first sentence sent to text-to-speech. */
  tts_start_ms: Schema.NullOr(Schema.Number),
  /** First sentence sent to text-to-speech → its first audio. */
  tts_ttfb_ms: Schema.NullOr(Schema.Number),
  /** Extension: detected end of the caller's speech → first agent frame sent. */
  response_ms: Schema.NullOr(Schema.Number),
  /** Extension: end of the caller's sound → the detected end of the turn. Comes before `response_ms`. */
  endpointing_ms: addedLater,
  /**
   * Extension: the latency of the platform itself: first sentence → its request to text-to-speech, plus first audio → its
   * first frame sent. Null when the answer had to wait because the agent was still speaking.
   */
  platform_ms: addedLater
}).annotations({ identifier: "TurnLatency" })
export type TurnLatency = typeof TurnLatency.Type

const summaryFields = {
  call_id: CallId,
  /** Null for a call to a number without an agent. */
  agent_id: Schema.NullOr(AgentId),
  from_number: Schema.NullOr(Schema.String),
  to_number: Schema.NullOr(Schema.String),
  status: CallStatus,
  disposition: Schema.NullOr(Disposition),
  ended_reason: Schema.NullOr(EndedReason),
  duration_seconds: Schema.Int,
  minutes_used: Schema.Number,
  rate_per_minute: Schema.Number,
  total_cost: Schema.Number,
  call_cost: Schema.Number,
  recording_cost: Schema.Number,
  llm_discount: Schema.Number,
  transfer_cost: Schema.Number,
  transfer_duration_seconds: Schema.Int,
  transferred_to: Schema.NullOr(Schema.String),
  has_recording: Schema.Boolean,
  recording_enabled: Schema.Boolean,
  turn_count: Schema.Int,
  tool_call_count: Schema.Int,
  tools_called: Schema.Array(Schema.String),
  metadata: JsonObject,
  ws_unavailable: Schema.Boolean,
  extracted_data: JsonObject,
  started_at: Timestamp,
  ended_at: Schema.NullOr(Timestamp)
}

/** A call as lists show it. */
export const CallSummary = Schema.Struct(summaryFields).annotations({ identifier: "CallSummary" })
export type CallSummary = typeof CallSummary.Type

/** Extensions of a single call: why it failed, and what else was wrong in it. */
const problemFields = {
  /** Null while the call runs, and when it did not fail. */
  failure: Schema.NullOr(CallFailure),
  /** The first 20, in order of time. */
  warnings: Schema.Array(CallWarning),
  /** How many more there were. */
  warnings_dropped: Schema.Int
}

/** Extensions of a single call: what it has used until now, what its models cost, and its connection. */
const usageFields = {
  /** Null for calls of releases that did not count it. */
  usage: Schema.NullOr(CallUsage),
  line: CallLine,
  /** EUR, part of `total_cost`; absent while the models cost nothing. */
  llm_cost: Schema.optionalWith(Schema.Number, { exact: true })
}

/** A call with its transcript and latencies. */
export const Call = Schema.Struct({
  ...summaryFields,
  transcript: Schema.Array(TranscriptTurn),
  latency_data: Schema.Struct({ turns: Schema.Array(TurnLatency) }),
  ...problemFields,
  ...usageFields
}).annotations({ identifier: "Call" })
export type Call = typeof Call.Type

/** Answer of `GET /v1/calls/<id>/status`. */
export const CallState = Schema.Struct({
  call_id: CallId,
  status: CallStatus,
  disposition: Schema.NullOr(Disposition),
  ended_reason: Schema.NullOr(EndedReason),
  duration_seconds: Schema.Int,
  started_at: Timestamp,
  ended_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "CallState" })
export type CallState = typeof CallState.Type

export class CallNotFound extends define("CallNotFound", "CALL_NOT_FOUND", 404, "call not found") {}
export class CallNotInProgress extends define(
  "CallNotInProgress",
  "CALL_NOT_IN_PROGRESS",
  409,
  "call is not in-progress"
) {}
export class NoControlChannel extends define(
  "NoControlChannel",
  "NO_CONTROL_CHANNEL",
  409,
  "call has no active control channel"
) {}
export class DebugTokenNotFound extends define(
  "DebugTokenNotFound",
  "DEBUG_TOKEN_NOT_FOUND",
  404,
  "call has no debug token"
) {}

/** A link to a call's recording, which needs no key and expires. */
export const RecordingLink = Schema.Struct({
  url: Schema.String,
  /** Seconds. */
  expires_in: Schema.Int,
  expires_at: Timestamp
}).annotations({ identifier: "RecordingLink" })
export type RecordingLink = typeof RecordingLink.Type

export class RecordingNotFound extends define(
  "RecordingNotFound",
  "RECORDING_NOT_FOUND",
  404,
  "recording not enabled or not yet available"
) {}
/** The link was altered or has expired. */
export class RecordingLinkInvalid extends define(
  "RecordingLinkInvalid",
  "RECORDING_LINK_INVALID",
  403,
  "The link is not valid or has expired"
) {}
