import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId, CallId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import {
  Call,
  CallNotFound,
  CallNotInProgress,
  CallState,
  CallStatus,
  CallSummary,
  Disposition,
  NoControlChannel
} from "./Call.ts"

/**
 * Whether a text is a day of the calendar. The parser takes 30 February for 2 March and has no time at all for month 13;
 * the database has no year 0.
 */
const isDay = (text: string): boolean => {
  const time = /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

const Day = (field: string) =>
  Schema.String.pipe(Schema.filter(isDay, { message: () => `${field} must be a date, YYYY-MM-DD` })).annotations({
    jsonSchema: { type: "string", format: "date" }
  })

/** Query of `GET /v1/calls` (spec 4.3): newest first; dates are UTC days, inclusive. */
export const CallsQuery = Schema.Struct({
  agent_id: Schema.optional(AnyId),
  status: Schema.optional(CallStatus),
  disposition: Schema.optional(Disposition),
  from_date: Schema.optional(Day("from_date")),
  to_date: Schema.optional(Day("to_date")),
  after: Schema.optional(Schema.String),
  limit: Schema.optionalWith(Limit(100), { default: () => 50 })
})
export type CallsQuery = typeof CallsQuery.Type

const callId = Schema.Struct({ callId: AnyId })

/** `/v1/calls` (spec 4.3). */
export const CallsApi = HttpApiGroup.make("calls")
  .annotateContext(OpenApi.annotations({ title: "Calls", description: "Calls under way and calls that are over." }))
  .add(
    HttpApiEndpoint.get("list", "/v1/calls")
      .annotateContext(
        OpenApi.annotations({
          summary: "List calls",
          description:
            "Newest first, without transcripts. `from_date` and `to_date` are UTC days, both included. `after` is the id of the last call seen."
        })
      )
      .setUrlParams(CallsQuery)
      .addSuccess(Schema.Struct({ calls: Schema.Array(CallSummary), next_cursor: Schema.NullOr(Schema.String) }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/calls/:callId")
      .annotateContext(
        OpenApi.annotations({ summary: "Get a call", description: "With its transcript and the latency of each turn." })
      )
      .setPath(callId)
      .addSuccess(Call)
      .addError(CallNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("status", "/v1/calls/:callId/status")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get a call's status",
          description: "What is needed to follow a call: cheaper than the whole call."
        })
      )
      .setPath(callId)
      .addSuccess(CallState)
      .addError(CallNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("end", "/v1/calls/:callId/end")
      .annotateContext(
        OpenApi.annotations({
          summary: "End a call",
          description: "Answers when the call has ended. A call that is not `in-progress` is a 409."
        })
      )
      .setPath(callId)
      .addSuccess(Schema.Struct({ success: Schema.Literal(true), call_id: CallId }))
      .addError(CallNotFound.wire)
      .addError(CallNotInProgress.wire)
      .addError(NoControlChannel.wire)
      .annotate(AccessRule, AccessRule.creditsExempt)
  )
