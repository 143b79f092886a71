import { SqlClient } from "@effect/sql"
import { Outbox } from "@svc/database/Outbox"
import { DeliveriesRepo } from "@svc/webhooks/DeliveriesRepo"
import { Clock, Console, Effect } from "effect"
import { type Line, quantile } from "./Verdict.ts"

/** Rows per statement. */
const step = 250_000
/** Events per call. */
const perCall = 20
const dayMs = 86_400_000

/**
 * Gives the database a history: events of the last 30 days, each delivered once, and 200,000 of each that are older.
 * Then measures its pages, and the removal of the old rows in the batches of the clean-up.
 */
export const seed = (org_id: number, webhook_id: number, deliveries: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const repo = yield* DeliveriesRepo
    const outbox = yield* Outbox
    const old = Math.min(200_000, deliveries)
    const total = deliveries + old
    yield* Console.error(`seeding ${total} events and attempts …`)
    for (let from = 0; from < total; from += step) {
      const to = Math.min(total, from + step) - 1
      yield* sql`
        with made as (
          insert into events (id, event, api_version, org_id, call_id, data, created_at)
          select 'whe_' || lpad(n::text, 24, '0'), 'transcript.updated', '2026-11-01', ${org_id}::bigint,
            'call_' || lpad((n / ${perCall})::text, 24, '0'),
            jsonb_build_object('call_id', 'call_' || lpad((n / ${perCall})::text, 24, '0'), 'agent_id', null, 'from', null,
              'turn', jsonb_build_object('role', 'user', 'content', repeat('A table for four, please. ', 5)),
              'turn_index', n % ${perCall}),
            now() - make_interval(secs => case when n < ${old} then 30.5 * 86400 else 30.0 * 86400 * (${total} - n) / ${total} end)
          from generate_series(${from}::int, ${to}::int) n
          returning seq, id, event, org_id, call_id, created_at
        )
        insert into webhook_attempts (
          webhook_id, org_id, event_seq, event_id, event, call_id, url, attempt, status_code, success, created_at
        )
        select ${webhook_id}::bigint, org_id, seq, id, event, call_id, 'http://127.0.0.1/events', 1, 200, true, created_at
        from made order by seq`
    }
    yield* sql`vacuum analyze events, webhook_attempts`

    const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const before = yield* Clock.currentTimeNanos
        const value = yield* effect
        return { value, ms: Number((yield* Clock.currentTimeNanos) - before) / 1e6 }
      })
    const median = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.map(Effect.replicateEffect(timed(effect), 20), (all) =>
        quantile(
          all.map(({ ms }) => ms),
          0.5
        )
      )
    const call = `call_${String(Math.floor(total / perCall / 2)).padStart(24, "0")}`
    const page = yield* median(repo.ofWebhook({ webhook_id, project_id: null, before: undefined, limit: 50 }))
    const deep = yield* median(
      repo.ofWebhook({ webhook_id, project_id: null, before: Math.floor(total / 2), limit: 50 })
    )
    const ofCall = yield* median(repo.ofCall(call, 500))
    const before = new Date((yield* Clock.currentTimeMillis) - 30 * dayMs)
    const batches: Array<number> = []
    let removed = 0
    for (let more = true; more; ) {
      const attempts = yield* timed(repo.removeBefore(before, 1000))
      const events = yield* timed(outbox.removeBefore(before, 1000))
      batches.push(attempts.ms, events.ms)
      removed += attempts.value + events.value
      more = attempts.value === 1000 || events.value === 1000
    }
    const spent = batches.reduce((sum, ms) => sum + ms, 0)
    const [size] = yield* sql<{ readonly kb: number }>`
      select (pg_total_relation_size('events') + pg_total_relation_size('webhook_attempts')) / 1024 as kb`
    const lines: ReadonlyArray<Line> = [
      { what: "history: first page of a webhook", figure: page, unit: "ms" },
      { what: "history: a page from the middle", figure: deep, unit: "ms" },
      { what: "history: a call's deliveries", figure: ofCall, unit: "ms" },
      { what: "clean-up: rows removed per second", figure: Math.round((removed / spent) * 1000), unit: "" },
      { what: "clean-up: a batch of 1000, p99", figure: quantile(batches, 0.99), unit: "ms" },
      { what: "size of events and attempts with their indexes", figure: size?.kb ?? 0, unit: "KB" }
    ]
    return lines
  })
