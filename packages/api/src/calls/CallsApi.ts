import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Day } from "../Day.ts"
import { AnyId, CallId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { InsufficientCredits, ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import {
  Call,
  CallNotFound,
  CallNotInProgress,
  CallState,
  CallStatus,
  CallSummary,
  DebugTokenNotFound,
  Disposition,
  EndedReasonFilter,
  NoControlChannel,
  RecordingLink,
  RecordingNotFound
} from "./Call.ts"
import { CallsSummary, CallsSummaryQuery } from "./CallsSummary.ts"
import { GatherAccepted, GatherAlreadyActive, GatherRequest } from "./Gather.ts"
import { ConcurrentCallLimitExceeded, OutboundNotSupported, PlaceCallRequest } from "./PlaceCall.ts"
import { TransferAlreadyActive, TransferDone, TransferFailed, TransferRequest } from "./Transfer.ts"

/** Query of `GET /v1/calls`: newest first; dates are UTC days, inclusive. */
export const CallsQuery = Schema.Struct({
  agent_id: Schema.optional(AnyId),
  status: Schema.optional(CallStatus),
  disposition: Schema.optional(Disposition),
  /** Extension. `max-duration` means `timeout`. */
  ended_reason: Schema.optional(EndedReasonFilter),
  from_date: Schema.optional(Day("from_date")),
  to_date: Schema.optional(Day("to_date")),
  after: Schema.optional(Schema.String),
  limit: Schema.optionalWith(Limit(100), { default: () => 50 })
})
export type CallsQuery = typeof CallsQuery.Type

const callId = Schema.Struct({ callId: AnyId })

/** Query of `GET /v1/calls/<callId>/recording`: how long the link is valid, in seconds. */
export const RecordingQuery = Schema.Struct({
  expires_in: Schema.optionalWith(
    Schema.String.pipe(
      Schema.pattern(/^-?[0-9]{1,15}$/, { message: () => "expires_in must be an integer" }),
      Schema.compose(Schema.NumberFromString),
      Schema.between(60, 86_400, { message: () => "expires_in must be between 60 and 86400" })
    ).annotations({ jsonSchema: { type: "integer", minimum: 60, maximum: 86_400 } }),
    { default: () => 3600 }
  )
})

/** `/v1/calls`. See docs/reference/calls.md. */
export const CallsApi = HttpApiGroup.make("calls")
  .annotateContext(OpenApi.annotations({ title: "Calls", description: "Calls under way and calls that are over." }))
  .add(
    HttpApiEndpoint.get("list", "/v1/calls")
      .annotateContext(
        OpenApi.annotations({
          summary: "List calls",
          description:
            "Newest first, without transcripts. `from_date` and `to_date` are UTC days, both included. `ended_reason` (extension) also takes `max-duration`, another word for `timeout`. `after` is the id of the last call seen."
        })
      )
      .setUrlParams(CallsQuery)
      .addSuccess(Schema.Struct({ calls: Schema.Array(CallSummary), next_cursor: Schema.NullOr(Schema.String) }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("place", "/v1/calls")
      .annotateContext(
        OpenApi.annotations({
          summary: "Place a call",
          description:
            "The agent calls a number (extension). Answers with the call while it rings; it ends as `no-answer`, `busy` or `failed`, or goes `in-progress`. `from_number` must be a number of the project; without it, the call comes from the agent's own."
        })
      )
      .setPayload(PlaceCallRequest)
      .addSuccess(Call, { status: 201 })
      .addError(ValidationError.wire)
      .addError(InsufficientCredits.wire)
      .addError(OutboundNotSupported.wire)
      .addError(ConcurrentCallLimitExceeded.wire)
  )
  .add(
    HttpApiEndpoint.get("summary", "/v1/calls/summary")
      .annotateContext(
        OpenApi.annotations({
          summary: "Sum up calls",
          description:
            "Calls that have ended, of the UTC days on which they started, both included. `agent_id` is the numeric id."
        })
      )
      .setUrlParams(CallsSummaryQuery)
      .addSuccess(CallsSummary)
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
    HttpApiEndpoint.get("recording", "/v1/calls/:callId/recording")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get a link to a call's recording",
          description:
            "A stereo MP3, caller left and agent right. The link needs no key, cannot be altered, and expires after `expires_in` seconds. 404 while there is no recording."
        })
      )
      .setPath(callId)
      .setUrlParams(RecordingQuery)
      .addSuccess(RecordingLink)
      .addError(CallNotFound.wire)
      .addError(RecordingNotFound.wire)
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("debugLink", "/v1/calls/:callId/debug-link")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get a link to a call's debug page",
          description:
            "The page has the call's timeline, transcript and latencies, live while the call runs. The link needs no key: who has it can read the call, for 90 days, until it is revoked or the project is deleted. Keys of one scope get the same link; that of a `read` key shows neither prompts nor bodies."
        })
      )
      .setPath(callId)
      .addSuccess(Schema.Struct({ debug_token: Schema.String, url: Schema.String }))
      .addError(CallNotFound.wire)
      .addError(DebugTokenNotFound.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeDebugLinks", "/v1/calls/:callId/debug-link")
      .annotateContext(
        OpenApi.annotations({
          summary: "Revoke the links to a call's debug page",
          description: "All links of the call end, and pages that are open with them. `GET` then makes new ones."
        })
      )
      .setPath(callId)
      .addSuccess(Schema.Struct({ revoked: Schema.Int }))
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
  .add(
    HttpApiEndpoint.post("gather", "/v1/calls/:callId/gather")
      .annotateContext(
        OpenApi.annotations({
          summary: "Collect keypad digits",
          description:
            "Speaks the prompt once the agent has finished what it says, and collects digits until there are `max_digits`, the terminator comes after a digit, or none comes for `timeout_seconds`. The outcome arrives as the event `call.gather.completed`. One gather at a time: another is a 409, as is a call that is not `in-progress`."
        })
      )
      .setPath(callId)
      .setPayload(GatherRequest)
      .addSuccess(GatherAccepted, { status: 202 })
      .addError(ValidationError.wire)
      .addError(CallNotFound.wire)
      .addError(CallNotInProgress.wire)
      .addError(GatherAlreadyActive.wire)
      .addError(NoControlChannel.wire)
  )
  .add(
    HttpApiEndpoint.post("transfer", "/v1/calls/:callId/transfer")
      .annotateContext(
        OpenApi.annotations({
          summary: "Transfer a call",
          description:
            "Hands the caller over to another number (blind transfer) and answers with the outcome, which may take as long as a phone rings. A transfer that fails is a 422 whose message carries the reason; the caller is then back with the agent. One transfer at a time: another is a 409, as is a call that is not `in-progress`."
        })
      )
      .setPath(callId)
      .setPayload(TransferRequest)
      .addSuccess(TransferDone)
      .addError(ValidationError.wire)
      .addError(CallNotFound.wire)
      .addError(CallNotInProgress.wire)
      .addError(TransferAlreadyActive.wire)
      .addError(NoControlChannel.wire)
      .addError(TransferFailed.wire)
  )
