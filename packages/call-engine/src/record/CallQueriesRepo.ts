import { SqlClient, SqlSchema } from "@effect/sql"
import { Call, CallState, CallSummary, type EndedReason, TurnLatency } from "@svc/api/calls/Call"
import type { CallsQuery } from "@svc/api/calls/CallsApi"
import { CallUsage, LineFigures } from "@svc/api/calls/CallUsage"
import { Context, Effect, Layer, type Option, Schema } from "effect"

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
  failure: Call.fields.failure,
  warnings: Call.fields.warnings,
  warnings_dropped: Call.fields.warnings_dropped,
  latency_turns: Schema.Array(TurnLatency),
  telephony: Schema.String,
  /** Null until the call is settled, and in calls of releases that did not count it. */
  usage: Schema.NullOr(CallUsage),
  line: Schema.NullOr(LineFigures),
  llm_cost: Money
})
export type CallRow = typeof CallRow.Type
const StateRow = Schema.Struct({ ...CallState.fields, started_at: Iso, ended_at: Schema.NullOr(Iso) })
/** A public or a numeric id. */
type CallKey = { readonly numeric: number } | { readonly public: string }

/** SQL that reads calls for the API. */
export class CallQueriesRepo extends Context.Tag("@svc/call-engine/CallQueriesRepo")<
  CallQueriesRepo,
  {
    readonly list: (filter: CallFilter) => Effect.Effect<ReadonlyArray<typeof SummaryRow.Type>>
    readonly get: (projectId: number, id: CallKey) => Effect.Effect<Option.Option<CallRow>>
    readonly state: (projectId: number, id: CallKey) => Effect.Effect<Option.Option<CallState>>
  }
>() {
  static readonly layer: Layer.Layer<CallQueriesRepo, never, SqlClient.SqlClient> = Layer.effect(
    CallQueriesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** The duration of a live call is counted until now. */
      const duration = sql`
        case when ended_at is null and answered_at is not null
          then greatest(0, extract(epoch from now() - answered_at))::int
          else duration_seconds end as duration_seconds`
      const summary = sql`
        id, public_id as call_id, agent_public_id as agent_id, from_number, to_number, status, disposition, ended_reason,
        ${duration}, minutes_used, rate_per_minute, total_cost, call_cost, recording_cost, llm_discount,
        transfer_cost, transfer_duration_seconds, transferred_to, has_recording, recording_enabled, turn_count,
        tool_call_count, tools_called, metadata, ws_unavailable, extracted_data, started_at, ended_at`

      const byId = (projectId: number, id: CallKey) =>
        "numeric" in id
          ? sql`project_id = ${projectId} and id = ${id.numeric}`
          : sql`project_id = ${projectId} and public_id = ${id.public}`

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
        list: (filter) => Effect.orDie(list(filter)),
        get: (projectId, id) =>
          Effect.orDie(
            SqlSchema.findOne({
              Request: Schema.Void,
              Result: CallRow,
              execute: () => sql`
                select ${summary}, transcript, latency_turns, failure, warnings, warnings_dropped, telephony, usage, line,
                  llm_cost
                from calls where ${byId(projectId, id)}`
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
