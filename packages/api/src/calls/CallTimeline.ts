import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId, EventId } from "../Ids.ts"
import { Json } from "../Wire.ts"
import { AppliedSettings } from "./AppliedSettings.ts"
import { CallNotFound, CallSummary, TurnLatency } from "./Call.ts"
import { CallFailure, CallWarning } from "./CallFailure.ts"
import { CallLine, CallUsage } from "./CallUsage.ts"

/** Milliseconds from the call's start. */
const at = Schema.Number
const atOrNull = Schema.NullOr(Schema.Number)

/** `index` of the agent's turn that it was for; null until that turn is in the transcript, and when it is for none. */
const turn = Schema.NullOr(Schema.Int)

/** A body; null for a `read` key, when there is none, and for older ones when the newest took all the room. */
const Body = Schema.NullOr(Json)

/** A turn of the transcript. */
export const TimelineTurn = Schema.Struct({
  index: Schema.Int,
  role: Schema.Literal("assistant", "user"),
  text: Schema.String,
  started_at: at,
  /** Null where it is not known: calls whose journal is gone. */
  ended_at: atOrNull,
  interrupted: Schema.Boolean,
  /** The latency of an agent's turn, as in `latency_data`. */
  stages: Schema.NullOr(TurnLatency)
}).annotations({ identifier: "TimelineTurn" })
export type TimelineTurn = typeof TimelineTurn.Type

/** A tool that the model called. */
export const TimelineTool = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  started_at: at,
  ended_at: atOrNull,
  status: Schema.Literal("running", "completed", "failed", "timeout"),
  arguments: Body,
  result: Body
}).annotations({ identifier: "TimelineTool" })
export type TimelineTool = typeof TimelineTool.Type

/** A request to the agent's server. */
export const TimelineServerRequest = Schema.Struct({
  event: Schema.String,
  started_at: at,
  duration_ms: Schema.Int,
  status: Schema.NullOr(Schema.Int),
  content_type: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String),
  /** As sent and received, at most 16,384 characters. */
  request: Schema.NullOr(Schema.String),
  response: Schema.NullOr(Schema.String)
}).annotations({ identifier: "TimelineServerRequest" })
export type TimelineServerRequest = typeof TimelineServerRequest.Type

/** A request to a provider of a plugin. */
export const TimelineProviderRequest = Schema.Struct({
  capability: Schema.Literal("speech-to-text", "text-to-speech", "language-model"),
  /** Position in the order of preference, from 0. */
  provider: Schema.Int,
  /** The plugin's short name, by the plugins that are loaded now; null when these are other ones than in the call. */
  plugin: Schema.NullOr(Schema.String),
  turn,
  started_at: at,
  /** When its first token, audio or words came. */
  first_at: atOrNull,
  ended_at: atOrNull,
  error: Schema.NullOr(Schema.String),
  /** As a language model reports them; null where there was no report. */
  tokens: Schema.NullOr(Schema.Struct({ input: Schema.Number, cached_input: Schema.Number, output: Schema.Number })),
  /** Of the text that text-to-speech was given; null for others. */
  characters: Schema.NullOr(Schema.Int)
}).annotations({ identifier: "TimelineProviderRequest" })
export type TimelineProviderRequest = typeof TimelineProviderRequest.Type

/** An attempt to deliver an event of the call. */
export const TimelineWebhook = Schema.Struct({
  event: Schema.String,
  event_id: EventId,
  /** Without query. */
  url: Schema.String,
  attempt: Schema.Int,
  at,
  status_code: Schema.NullOr(Schema.Int),
  success: Schema.Boolean,
  error: Schema.NullOr(Schema.String)
}).annotations({ identifier: "TimelineWebhook" })
export type TimelineWebhook = typeof TimelineWebhook.Type

/** Something that happened in a call, for people. */
export const TimelineEvent = Schema.Struct({
  at,
  actor: Schema.Literal("call", "caller", "agent", "model", "tool", "knowledge", "server", "event"),
  what: Schema.String,
  data: Body
}).annotations({ identifier: "TimelineEvent" })
export type TimelineEvent = typeof TimelineEvent.Type

/** `what` of the events with which the agent begins to wait for digits; those of tools have none. */
export const gatherBegins = {
  menu: "answered call.started with a menu",
  request: "digits requested through the API"
} as const

const lists = {
  turns: Schema.Array(TimelineTurn),
  tools: Schema.Array(TimelineTool),
  server_requests: Schema.Array(TimelineServerRequest),
  provider_requests: Schema.Array(TimelineProviderRequest),
  webhooks: Schema.Array(TimelineWebhook),
  events: Schema.Array(TimelineEvent),
  /** `at` in milliseconds here. */
  warnings: Schema.Array(CallWarning)
} as const

/** The history of one call. Lists are in order of time and have the newest entries; `left_out` counts the others. */
export const CallTimeline = Schema.Struct({
  version: Schema.Literal(1),
  call: CallSummary,
  ...lists,
  failure: Schema.NullOr(CallFailure),
  /** As in the call's record, until now. */
  line: CallLine,
  usage: Schema.NullOr(CallUsage),
  /** Which settings apply; null: the call has no configuration yet, or its journal is gone. */
  settings: Schema.NullOr(AppliedSettings),
  /** EUR; 0 until the call is settled. */
  cost: Schema.Struct({
    minutes_used: Schema.Number,
    rate_per_minute: Schema.Number,
    call_cost: Schema.Number,
    recording_cost: Schema.Number,
    transfer_cost: Schema.Number,
    llm_cost: Schema.Number,
    llm_discount: Schema.Number,
    total_cost: Schema.Number
  }),
  left_out: Schema.Struct({
    turns: Schema.Int,
    tools: Schema.Int,
    server_requests: Schema.Int,
    provider_requests: Schema.Int,
    webhooks: Schema.Int,
    events: Schema.Int,
    warnings: Schema.Int
  })
}).annotations({ identifier: "CallTimeline" })
export type CallTimeline = typeof CallTimeline.Type

/** `/v1/calls/<callId>/timeline`. See docs/reference/calls.md. */
export const CallTimelineApi = HttpApiGroup.make("callTimeline")
  .annotateContext(
    OpenApi.annotations({ title: "Call timeline", description: "What happened in a call, live while it runs." })
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/calls/:callId/timeline")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get a call's timeline",
          description:
            "Turns, tools, requests to the agent's server and to providers, webhook deliveries, events, warnings, failure, line, usage, settings and cost of a call (extension). Times are milliseconds from the call's start, those of `call` ISO 8601. A `read` key gets no bodies. Lists have the newest entries, and `left_out` the number of the others."
        })
      )
      .setPath(Schema.Struct({ callId: AnyId }))
      .addSuccess(CallTimeline)
      .addError(CallNotFound.wire)
  )
