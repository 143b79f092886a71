import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Generated calls, for tests and benchmarks of code that reads them. */
export interface CallsToSeed {
  readonly org_id: number
  readonly project_id: number
  /** The calls are assigned to these in turn. */
  readonly agents: ReadonlyArray<{ readonly id: number; readonly public_id: string }>
  readonly count: number
  /** Calls start evenly spread over `days` before this time. */
  readonly until: Date
  readonly days: number
}

/**
 * Inserts ended calls and the usage that their settlement would have left, and analyzes the tables. Of 100 calls 90 are
 * completed, 4 failed, 4 were not answered, one was canceled and one rejected; completed calls took 30 to 329 s at 0.08
 * EUR a minute. They have no ledger entries, journals or events. A million take about a minute.
 */
export const seedCalls = ({
  agents,
  count,
  days,
  org_id,
  project_id,
  until
}: CallsToSeed): Effect.Effect<void, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const seconds = (days * 86_400) / count
    yield* sql`
      with made as (
        select n, ${until}::timestamptz - make_interval(secs => (${count}::float8 - n) * ${seconds}::float8) as started_at,
          (${agents.map((agent) => agent.id)}::bigint[])[1 + n % ${agents.length}::int] as agent_id,
          (${agents.map((agent) => agent.public_id)}::text[])[1 + n % ${agents.length}::int] as agent_public_id,
          -- Independent of the agent.
          case
            when n * 37 % 100 < 90 then 'completed' when n * 37 % 100 < 94 then 'failed'
            when n * 37 % 100 < 98 then 'no-answer' when n * 37 % 100 < 99 then 'canceled' else 'rejected'
          end as status,
          30 + n * 7 % 300 as talked
        from generate_series(1, ${count}::int) n
      )
      insert into calls (
        public_id, org_id, project_id, agent_id, agent_public_id, telephony, from_number, to_number, status, disposition,
        ended_reason, started_at, answered_at, ended_at, duration_seconds, minutes_used, rate_per_minute, call_cost,
        total_cost, turn_count
      )
      select 'call_' || substr(md5(${project_id}::text || n::text), 1, 24), ${org_id}::bigint, ${project_id}::bigint,
        agent_id, agent_public_id, 'simulated', '+15550000001', '+15550000002', status,
        case status when 'completed' then 'answered' when 'canceled' then 'no-answer' else status end,
        case status when 'completed' then 'caller-hangup' when 'canceled' then 'caller-hangup' when 'failed' then 'error' end,
        started_at, case status when 'completed' then started_at end,
        started_at + make_interval(secs => case status when 'completed' then talked else 5 end),
        case status when 'completed' then talked else 0 end,
        case status when 'completed' then round(talked / 60.0, 4) else 0 end, 0.08,
        case status when 'completed' then round(round(talked / 60.0, 4) * 0.08, 4) else 0 end,
        case status when 'completed' then round(round(talked / 60.0, 4) * 0.08, 4) else 0 end,
        case status when 'completed' then 6 else 0 end
      from made order by n`
    yield* sql`
      insert into usage_days (
        org_id, project_id, agent_id, agent_public_id, day, calls, completed_calls, failed_calls, answered_calls,
        no_answer_calls, duration_seconds, minutes_used, total_cost
      )
      select org_id, project_id, agent_id, agent_public_id, (started_at at time zone 'UTC')::date, count(*),
        count(*) filter (where status = 'completed'), count(*) filter (where status = 'failed'),
        count(*) filter (where disposition = 'answered'), count(*) filter (where disposition = 'no-answer'),
        sum(duration_seconds), sum(minutes_used), sum(total_cost)
      from calls where project_id = ${project_id}
      group by 1, 2, 3, 4, 5`
    yield* sql`analyze calls`
    yield* sql`analyze usage_days`
  }).pipe(Effect.orDie)
