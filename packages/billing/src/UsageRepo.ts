import { SqlClient, SqlSchema } from "@effect/sql"
import type { Granularity } from "@svc/api/billing/UsageApi"
import { Context, Effect, Layer, Schema } from "effect"

/** The usage of one call or message on its day. Money is decimal text; the day is UTC, `YYYY-MM-DD`. */
export interface UsageRow {
  readonly org_id: number
  readonly project_id: number
  /** 0 for none. */
  readonly agent_id: number
  /** Empty for none. */
  readonly agent_public_id: string
  readonly day: string
  readonly calls: number
  readonly completed_calls: number
  readonly failed_calls: number
  readonly answered_calls: number
  readonly no_answer_calls: number
  readonly duration_seconds: number
  readonly minutes_used: string
  readonly total_cost: string
  readonly recording_cost: string
  readonly llm_discount: string
  readonly sms_count: number
  readonly sms_cost: string
}

/** Selects the usage of a project or of the whole organization, of one agent or of all. */
export interface UsageScope {
  readonly org_id: number
  readonly project_id: number | null
  readonly agent: { readonly numeric: number } | { readonly public: string } | null
}

/** Sums of `bigint` and money arrive as text; each fits a JSON number. */
const Sum = Schema.NumberFromString

const PeriodRow = Schema.Struct({
  period: Schema.String,
  total_minutes: Sum,
  total_cost: Sum,
  call_count: Schema.Int,
  sms_count: Schema.Int,
  sms_cost: Sum
})
export type PeriodRow = typeof PeriodRow.Type

const SummaryRow = Schema.Struct({
  total_calls: Schema.Int,
  completed_calls: Schema.Int,
  failed_calls: Schema.Int,
  answered_calls: Schema.Int,
  no_answer_calls: Schema.Int,
  total_duration_seconds: Sum,
  total_minutes_used: Sum,
  total_cost: Sum,
  total_recording_cost: Sum,
  total_llm_discount: Sum
})
export type SummaryRow = typeof SummaryRow.Type

const sums = [
  "calls",
  "completed_calls",
  "failed_calls",
  "answered_calls",
  "no_answer_calls",
  "duration_seconds",
  "minutes_used",
  "total_cost",
  "recording_cost",
  "llm_discount",
  "sms_count",
  "sms_cost"
] as const

/** Table `usage_days`: a row per agent and UTC day with usage, so that no query reads calls. */
export class UsageRepo extends Context.Tag("@svc/billing/UsageRepo")<
  UsageRepo,
  {
    readonly add: (row: UsageRow) => Effect.Effect<void>
    /** The periods from the first day's to the last day's, oldest first, then their `total`. */
    readonly periods: (
      scope: UsageScope,
      range: { readonly from: string; readonly to: string; readonly granularity: Granularity }
    ) => Effect.Effect<ReadonlyArray<PeriodRow>>
    /** Days are inclusive, null is open. */
    readonly summary: (
      scope: UsageScope,
      range: { readonly from: string | null; readonly to: string | null }
    ) => Effect.Effect<SummaryRow>
  }
>() {
  static readonly layer: Layer.Layer<UsageRepo, never, SqlClient.SqlClient> = Layer.effect(
    UsageRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const added = sql.csv(sums.map((name) => sql.literal(`${name} = usage_days.${name} + excluded.${name}`)))

      const scoped = ({ agent, org_id, project_id }: UsageScope) =>
        sql.and([
          project_id === null ? sql`org_id = ${org_id}` : sql`project_id = ${project_id}`,
          ...(agent === null
            ? []
            : ["numeric" in agent ? sql`agent_id = ${agent.numeric}` : sql`agent_public_id = ${agent.public}`])
        ])

      const periods = Effect.fn("UsageRepo.periods")(function* (
        scope: UsageScope,
        { from, granularity, to }: { readonly from: string; readonly to: string; readonly granularity: Granularity }
      ) {
        const rows = yield* sql`
          with used as (
            select date_trunc(${granularity}, day::timestamp) as period, sum(minutes_used) as minutes,
              sum(total_cost) as cost, sum(calls) as calls, sum(sms_count) as sms, sum(sms_cost) as sms_cost
            from usage_days
            where ${scoped(scope)} and day between ${from}::date and ${to}::date
            group by 1
          ),
          shown as (
            select generate_series(
              date_trunc(${granularity}, ${from}::timestamp), ${to}::timestamp, ${`1 ${granularity}`}::interval
            ) as period
          )
          select
            case when grouping(s.period) = 1 then 'total'
              else to_char(s.period, ${granularity === "day" ? "YYYY-MM-DD" : "YYYY-MM"}) end as period,
            coalesce(sum(minutes), 0) as total_minutes, coalesce(sum(cost), 0) as total_cost,
            coalesce(sum(calls), 0)::bigint as call_count, coalesce(sum(sms), 0)::bigint as sms_count,
            coalesce(sum(sms_cost), 0) as sms_cost
          from shown s left join used u on u.period = s.period
          group by grouping sets ((s.period), ())
          order by grouping(s.period), s.period`
        return yield* Schema.decodeUnknown(Schema.Array(PeriodRow))(rows)
      }, Effect.orDie)

      const summary = SqlSchema.single({
        Request: Schema.Any,
        Result: SummaryRow,
        execute: (query: {
          readonly scope: UsageScope
          readonly range: { readonly from: string | null; readonly to: string | null }
        }) => sql`
          select
            coalesce(sum(calls), 0)::bigint as total_calls,
            coalesce(sum(completed_calls), 0)::bigint as completed_calls,
            coalesce(sum(failed_calls), 0)::bigint as failed_calls,
            coalesce(sum(answered_calls), 0)::bigint as answered_calls,
            coalesce(sum(no_answer_calls), 0)::bigint as no_answer_calls,
            coalesce(sum(duration_seconds), 0) as total_duration_seconds,
            coalesce(sum(minutes_used), 0) as total_minutes_used,
            coalesce(sum(total_cost), 0) as total_cost,
            coalesce(sum(recording_cost), 0) as total_recording_cost,
            coalesce(sum(llm_discount), 0) as total_llm_discount
          from usage_days where ${sql.and([
            scoped(query.scope),
            ...(query.range.from === null ? [] : [sql`day >= ${query.range.from}::date`]),
            ...(query.range.to === null ? [] : [sql`day <= ${query.range.to}::date`])
          ])}`
      })

      return {
        add: (row) =>
          Effect.asVoid(
            Effect.orDie(sql`
              insert into usage_days ${sql.insert({ ...row })}
              on conflict (project_id, agent_id, day) do update set ${added}`)
          ),
        periods,
        summary: (scope, range) => Effect.orDie(summary({ scope, range }))
      }
    })
  )
}
