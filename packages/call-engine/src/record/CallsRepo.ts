import { SqlClient, SqlSchema } from "@effect/sql"
import type { ExtractedData } from "@svc/api/callbacks/Extraction"
import {
  Call,
  CallState,
  type CallStatus,
  CallSummary,
  type Disposition,
  type EndedReason,
  type TranscriptTurn,
  TurnLatency
} from "@svc/api/calls/Call"
import type { CallsQuery } from "@svc/api/calls/CallsApi"
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
  readonly to_number: string
  readonly status: "ringing" | "rejected"
  readonly started_at: Date
  readonly metadata?: { readonly [key: string]: unknown }
}

/** What is written when a call was answered; again when its configuration comes after that. */
export interface AnsweredCall {
  /** Numeric id. */
  readonly call_id: number
  readonly answered_at: Date
  readonly metadata: { readonly [key: string]: unknown }
  readonly recording_enabled: boolean
}

/** What is written when a call is settled. */
export interface FinishedCall {
  readonly status: CallStatus
  readonly disposition: Disposition
  readonly ended_reason: string | null
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
  status: CallSummary.fields.status,
  from_number: Schema.NullOr(Schema.String),
  to_number: Schema.NullOr(Schema.String),
  /** May lag behind the session of a live call. */
  recording_enabled: Schema.Boolean,
  started_at: Schema.DateFromSelf
})
export type CallOwner = typeof CallOwner.Type

/** The filters of a list, with ids resolved. */
export type CallFilter = Omit<CallsQuery, "agent_id" | "after"> & {
  readonly project_id: number
  readonly agent_id?: number
  /** Only calls older than this one. */
  readonly before_id?: number
}

/** `max-duration` is an alias that is never stored. */
const storedReason = (reason: NonNullable<CallFilter["ended_reason"]>): EndedReason =>
  reason === "max-duration" ? "timeout" : reason

const Money = Schema.NumberFromString
const Iso = Schema.transform(Schema.DateFromSelf, Schema.String, {
  strict: true,
  decode: (date) => date.toISOString(),
  encode: (text) => new Date(text)
})

const summaryRow = {
  ...CallSummary.fields,
  minutes_used: Money,
  rate_per_minute: Money,
  total_cost: Money,
  call_cost: Money,
  recording_cost: Money,
  llm_discount: Money,
  transfer_cost: Money,
  started_at: Iso,
  ended_at: Schema.NullOr(Iso)
}
const SummaryRow = Schema.Struct({ ...summaryRow, id: Schema.Int })
const CallRow = Schema.Struct({
  ...summaryRow,
  id: Schema.Int,
  transcript: Call.fields.transcript,
  latency_turns: Schema.Array(TurnLatency)
})
export type CallRow = typeof CallRow.Type
const StateRow = Schema.Struct({ ...CallState.fields, started_at: Iso, ended_at: Schema.NullOr(Iso) })
/** SQL of calls. */
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
    readonly list: (filter: CallFilter) => Effect.Effect<ReadonlyArray<typeof SummaryRow.Type>>
    readonly get: (
      projectId: number,
      id: { readonly numeric: number } | { readonly public: string }
    ) => Effect.Effect<Option.Option<CallRow>>
    readonly state: (
      projectId: number,
      id: { readonly numeric: number } | { readonly public: string }
    ) => Effect.Effect<Option.Option<CallState>>
  }
>() {
  static readonly layer: Layer.Layer<CallsRepo, never, SqlClient.SqlClient> = Layer.effect(
    CallsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Of a live call: until now. */
      const duration = sql`
        case when ended_at is null and answered_at is not null
          then greatest(0, extract(epoch from now() - answered_at))::int
          else duration_seconds end as duration_seconds`
      const summary = sql`
        id, public_id as call_id, agent_public_id as agent_id, from_number, to_number, status, disposition, ended_reason,
        ${duration}, minutes_used, rate_per_minute, total_cost, call_cost, recording_cost, llm_discount,
        transfer_cost, transfer_duration_seconds, transferred_to, has_recording, recording_enabled, turn_count,
        tool_call_count, tools_called, metadata, ws_unavailable, extracted_data, started_at, ended_at`
      const owner = sql`
        id, public_id, org_id, project_id, agent_id, agent_public_id, node_id, status, from_number, to_number,
        recording_enabled, started_at`

      const byId = (projectId: number, id: { readonly numeric: number } | { readonly public: string }) =>
        "numeric" in id
          ? sql`project_id = ${projectId} and id = ${id.numeric}`
          : sql`project_id = ${projectId} and public_id = ${id.public}`

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
              latency_turns = ${jsonbText(call.latency_turns)}::jsonb
            where id = ${id} and ended_at is null
            returning id`,
          (rows) => rows.length === 1
        )

      const list = SqlSchema.findAll({
        Request: Schema.Any,
        Result: SummaryRow,
        execute: (f: CallFilter) => sql`
          select ${summary} from calls where ${sql.and([
            sql`project_id = ${f.project_id}`,
            ...(f.agent_id === undefined ? [] : [sql`agent_id = ${f.agent_id}`]),
            ...(f.before_id === undefined
              ? []
              : [
                  sql`(started_at, id) < ((select started_at from calls where id = ${f.before_id}), ${f.before_id}::bigint)`
                ]),
            ...(f.status === undefined ? [] : [sql`status = ${f.status}`]),
            ...(f.disposition === undefined ? [] : [sql`disposition = ${f.disposition}`]),
            ...(f.ended_reason === undefined ? [] : [sql`ended_reason = ${storedReason(f.ended_reason)}`]),
            ...(f.from_date === undefined ? [] : [sql`started_at >= ${`${f.from_date}T00:00:00Z`}::timestamptz`]),
            ...(f.to_date === undefined
              ? []
              : [sql`started_at < ${`${f.to_date}T00:00:00Z`}::timestamptz + interval '1 day'`])
          ])} order by started_at desc, id desc limit ${f.limit}`
      })

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
          ),
        list: (filter) => Effect.orDie(list(filter)),
        get: (projectId, id) =>
          Effect.orDie(
            SqlSchema.findOne({
              Request: Schema.Void,
              Result: CallRow,
              execute: () => sql`select ${summary}, transcript, latency_turns from calls where ${byId(projectId, id)}`
            })(undefined)
          ),
        state: (projectId, id) =>
          Effect.orDie(
            SqlSchema.findOne({
              Request: Schema.Void,
              Result: StateRow,
              execute: () => sql`
                select public_id as call_id, status, disposition, ended_reason, ${duration}, started_at, ended_at
                from calls where ${byId(projectId, id)}`
            })(undefined)
          )
      }
    })
  )
}
