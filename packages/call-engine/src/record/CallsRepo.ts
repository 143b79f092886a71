import { SqlClient, SqlSchema } from "@effect/sql"
import type { ExtractedData } from "@svc/api/callbacks/Extraction"
import {
  type CallStatus,
  CallSummary,
  type Disposition,
  type EndedReason,
  type TranscriptTurn,
  type TurnLatency
} from "@svc/api/calls/Call"
import type { CallFailure, CallWarning } from "@svc/api/calls/CallFailure"
import type { CallUsage, LineFigures } from "@svc/api/calls/CallUsage"
import type { AgentId, CallId } from "@svc/api/Ids"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, type Option, Schema } from "effect"

/** A call before its record is written. */
export interface NewCall {
  readonly public_id: CallId
  readonly org_id: number
  readonly project_id: number
  readonly agent_id: number | null
  readonly agent_public_id: AgentId | null
  readonly node_id: string
  readonly telephony: string
  readonly from_number: string | null
  readonly to_number: string | null
  readonly status: "ringing" | "rejected"
  readonly started_at: Date
  readonly metadata?: { readonly [key: string]: unknown }
}

/** Written when a call is answered, and again when its configuration arrives after that. */
export interface AnsweredCall {
  /** Numeric id. */
  readonly call_id: number
  readonly answered_at: Date
  readonly metadata: { readonly [key: string]: unknown }
  readonly recording_enabled: boolean
}

/** Written when a call is settled. */
export interface FinishedCall {
  readonly status: CallStatus
  readonly disposition: Disposition
  readonly ended_reason: EndedReason | null
  readonly ended_at: Date
  readonly duration_seconds: number
  /** Time with the transfer's destination; not part of the call's duration. */
  readonly transfer_duration_seconds: number
  readonly transferred_to: string | null
  readonly minutes_used: number
  /** EUR, as all costs are. */
  readonly rate_per_minute: number
  readonly call_cost: number
  readonly recording_cost: number
  readonly transfer_cost: number
  readonly llm_discount: number
  readonly total_cost: number
  readonly turn_count: number
  readonly tool_call_count: number
  readonly tools_called: ReadonlyArray<string>
  readonly metadata: { readonly [key: string]: unknown }
  readonly extracted_data: ExtractedData
  readonly transcript: ReadonlyArray<TranscriptTurn>
  readonly latency_turns: ReadonlyArray<TurnLatency>
  readonly failure: CallFailure | null
  readonly warnings: ReadonlyArray<CallWarning>
  readonly warnings_dropped: number
  readonly usage: CallUsage
  readonly line: LineFigures
  readonly llm_cost: number
}

/** A call with its owners and its node. */
export const CallOwner = Schema.Struct({
  id: Schema.Int,
  public_id: CallSummary.fields.call_id,
  org_id: Schema.Int,
  project_id: Schema.Int,
  agent_id: Schema.NullOr(Schema.Int),
  agent_public_id: CallSummary.fields.agent_id,
  node_id: Schema.NullOr(Schema.String),
  telephony: Schema.String,
  status: CallSummary.fields.status,
  from_number: Schema.NullOr(Schema.String),
  to_number: Schema.NullOr(Schema.String),
  /** May lag behind the session of a live call. */
  recording_enabled: Schema.Boolean,
  started_at: Schema.DateFromSelf
})
export type CallOwner = typeof CallOwner.Type

/** SQL that writes calls, from admission to settlement. For the API's queries see CallQueriesRepo. */
export class CallsRepo extends Context.Tag("@svc/call-engine/CallsRepo")<
  CallsRepo,
  {
    /** Returns the numeric id. */
    readonly insert: (call: NewCall) => Effect.Effect<number>
    /** Marks a call as answered unless it has ended. */
    readonly markAnswered: (call: AnsweredCall) => Effect.Effect<void>
    /** Ends a call. False when it had ended already. */
    readonly finish: (id: number, call: FinishedCall) => Effect.Effect<boolean>
    readonly owner: (publicId: string) => Effect.Effect<Option.Option<CallOwner>>
    /** The live calls of these nodes. */
    readonly liveOn: (nodes: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<CallOwner>>
    /** Whether an agent has calls that have not ended. */
    readonly hasLive: (agentId: number) => Effect.Effect<boolean>
  }
>() {
  static readonly layer: Layer.Layer<CallsRepo, never, SqlClient.SqlClient> = Layer.effect(
    CallsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const owner = sql`
        id, public_id, org_id, project_id, agent_id, agent_public_id, node_id, telephony, status, from_number, to_number,
        recording_enabled, started_at`

      const insert = SqlSchema.single({
        Request: Schema.Any,
        Result: Schema.Struct({ id: Schema.Int }),
        execute: ({ metadata, ...call }: NewCall) =>
          sql`insert into calls ${sql.insert({ ...call, metadata: jsonbText(metadata ?? {}) })} returning id`
      })

      const finish = (id: number, call: FinishedCall) =>
        Effect.map(
          sql`
            update calls set
              status = ${call.status}, disposition = ${call.disposition}, ended_reason = ${call.ended_reason},
              ended_at = ${call.ended_at}, duration_seconds = ${call.duration_seconds},
              transfer_duration_seconds = ${call.transfer_duration_seconds}, transferred_to = ${call.transferred_to},
              minutes_used = ${call.minutes_used}, rate_per_minute = ${call.rate_per_minute},
              call_cost = ${call.call_cost}, recording_cost = ${call.recording_cost},
              transfer_cost = ${call.transfer_cost}, llm_discount = ${call.llm_discount},
              total_cost = ${call.total_cost}, turn_count = ${call.turn_count},
              tool_call_count = ${call.tool_call_count}, tools_called = ${call.tools_called},
              metadata = ${jsonbText(call.metadata)}::jsonb,
              extracted_data = ${jsonbText(call.extracted_data)}::jsonb,
              transcript = ${jsonbText(call.transcript)}::jsonb,
              latency_turns = ${jsonbText(call.latency_turns)}::jsonb,
              failure = ${call.failure === null ? null : jsonbText(call.failure)}::jsonb,
              warnings = ${jsonbText(call.warnings)}::jsonb, warnings_dropped = ${call.warnings_dropped},
              usage = ${jsonbText(call.usage)}::jsonb, line = ${jsonbText(call.line)}::jsonb, llm_cost = ${call.llm_cost}
            where id = ${id} and ended_at is null
            returning id`,
          (rows) => rows.length === 1
        )

      return {
        insert: (call) => Effect.map(Effect.orDie(insert(call)), (row) => row.id),
        markAnswered: (call) =>
          sql`
            update calls set status = 'in-progress', answered_at = ${call.answered_at},
              metadata = ${jsonbText(call.metadata)}::jsonb, recording_enabled = ${call.recording_enabled}
            where id = ${call.call_id} and status in ('ringing', 'in-progress')`.pipe(Effect.asVoid, Effect.orDie),
        finish: (id, call) => Effect.orDie(finish(id, call)),
        owner: (publicId) =>
          Effect.orDie(
            SqlSchema.findOne({
              Request: Schema.String,
              Result: CallOwner,
              execute: (id) => sql`select ${owner} from calls where public_id = ${id}`
            })(publicId)
          ),
        liveOn: (nodes) =>
          Effect.orDie(
            SqlSchema.findAll({
              Request: Schema.Array(Schema.String),
              Result: CallOwner,
              // A fixed order, so that two nodes that settle at the same time cannot deadlock.
              execute: (ids) => sql`
                select ${owner} from calls where ended_at is null and node_id = any(${ids}::text[])
                order by org_id, agent_id, id`
            })(nodes)
          ),
        hasLive: (agentId) =>
          sql`select 1 from calls where agent_id = ${agentId} and ended_at is null limit 1`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          )
      }
    })
  )
}
