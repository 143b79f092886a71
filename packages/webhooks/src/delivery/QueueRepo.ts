import { SqlClient, type SqlError } from "@effect/sql"
import { takenEvents } from "@svc/database/Outbox"
import { Context, Effect, Layer } from "effect"
import { matches } from "../Matching.ts"
import type { EnvelopeParts } from "./Letters.ts"
import { mostFailures, type Tally } from "./Tally.ts"

/** A delivery that a node took, with what it needs to send it. */
export interface Claimed extends EnvelopeParts {
  readonly id: number
  readonly webhook_id: number
  readonly call_id: string | null
  readonly is_replay: boolean
  readonly is_resend: boolean
  /** Attempts that were made before. */
  readonly attempts: number
  readonly url: string
  readonly secret: string
  readonly is_active: boolean
  /** The webhook's, when the delivery was taken. */
  readonly consecutive_failures: number
}

/** What is asked for when a node takes deliveries. */
export interface Ask {
  /** The lease of the node. */
  readonly node: string
  readonly now: Date
  /** Deliveries that the node has room for. */
  readonly room: number
  /** The same for each webhook. */
  readonly perWebhook: number
  /** How many of these are taken, by webhook. */
  readonly busy: ReadonlyMap<number, number>
  /** Deliveries that the node knows to have. Given after an error, when it may have been given some without hearing of it. */
  readonly known?: ReadonlyArray<number> | undefined
}

/** What became of an attempt, or of a delivery that is not attempted any more. */
export interface Outcome {
  readonly delivery: Claimed
  /** The lease under which it was taken: the outcome counts only as long as that holds the delivery. */
  readonly node: string
  /** When it started; null when there was no attempt. */
  readonly at: Date | null
  readonly status_code: number | null
  /** Null: delivered. */
  readonly error: string | null
  /** The next attempt; null: there is none. */
  readonly next_at: Date | null
}

/**
 * The queue of deliveries (architecture §6). Rows are what is owed; a node that works on one has its lease in it, and a
 * lease is good as long as its node lives. The worker must see a database that is away and go on, so unlike elsewhere
 * the errors of SQL are handed to it.
 */
export class QueueRepo extends Context.Tag("@svc/webhooks/QueueRepo")<
  QueueRepo,
  {
    /**
     * Turns at most `limit` events of the outbox into deliveries that are due then, in their order. Gives how many events
     * there were.
     */
    readonly fanOut: (limit: number, due: Date) => Effect.Effect<number, SqlError.SqlError>
    /**
     * Takes deliveries that are due, in order of their ids. Each webhook gets its first before any gets its second. First
     * attempts of a webhook are taken in the order of the queue, and none while an earlier one is with another node.
     */
    readonly claim: (ask: Ask) => Effect.Effect<ReadonlyArray<Claimed>, SqlError.SqlError>
    /** Writes outcomes down, all or nothing; those of deliveries that are not ours any more change nothing. */
    readonly finish: (outcomes: ReadonlyArray<Outcome>) => Effect.Effect<void, SqlError.SqlError>
    /** Counts failures and successes, and gives the webhooks that are disabled then. */
    readonly count: (tallies: ReadonlyArray<Tally>) => Effect.Effect<ReadonlyArray<number>, SqlError.SqlError>
    /** Gives back what these nodes have, or of it only the deliveries `ids`. */
    readonly release: (
      nodes: ReadonlyArray<string>,
      ids?: ReadonlyArray<number>
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>() {
  static readonly layer: Layer.Layer<QueueRepo, never, SqlClient.SqlClient> = Layer.effect(
    QueueRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Steps from webhook to webhook through an index, over all rows of each. */
      const webhooksIn = (name: string, which: string) => sql`
        ${sql.literal(name)} (webhook_id) as (
          (select webhook_id from webhook_deliveries where ${sql.literal(which)} order by webhook_id limit 1)
          union all
          select (
            select d.webhook_id from webhook_deliveries d
            where ${sql.literal(`d.${which}`)} and d.webhook_id > w.webhook_id order by d.webhook_id limit 1
          ) from ${sql.literal(name)} w where w.webhook_id is not null
        )`

      return {
        fanOut: (limit, due) =>
          sql<{ readonly n: number }>`
            with ${takenEvents(sql, limit)},
            made as (
              insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, next_at)
              select h.id, e.seq, e.id, e.event, e.org_id, e.call_id, ${due}::timestamptz
              from taken
              cross join lateral (select * from events where events.seq = taken.seq offset 0) e
              join webhooks h on h.org_id = e.org_id and h.is_active and ${matches(sql)}
              order by e.seq, h.id
            )
            select count(*) as n from taken`.pipe(Effect.map((rows) => rows[0]?.n ?? 0)),
        claim: ({ busy, known, node, now, perWebhook, room }) => {
          // A row that has our lease and that we know nothing of was given to us in an answer that was lost.
          const free =
            known === undefined
              ? sql`d.leased_by is null`
              : sql`(d.leased_by is null or (d.leased_by = ${node} and d.id <> all(${known}::bigint[])))`
          const open = sql`limit greatest(0, ${perWebhook}::int - coalesce(b.n, 0)) for update skip locked`
          // Rows as this very statement made them: they are not decoded once more, there are thousands a second.
          return sql<Claimed>`
            with recursive ${webhooksIn("firsts", "attempts = 0")},
            ${webhooksIn("agains", "attempts > 0")},
            busy (webhook_id, n) as (
              select * from unnest(${[...busy.keys()]}::bigint[], ${[...busy.values()]}::int[])
            ),
            due as materialized (
              select id, webhook_id, is_first from (
                select x.id, w.webhook_id, true as is_first, x.place
                from firsts w left join busy b on b.webhook_id = w.webhook_id
                cross join lateral (
                  select y.id, row_number() over (order by y.id) as place from (
                    select d.id from webhook_deliveries d
                    where d.webhook_id = w.webhook_id and d.attempts = 0 and d.next_at <= ${now} and ${free}
                    order by d.id ${open}
                  ) y
                ) x
                union all
                select x.id, w.webhook_id, false, x.place
                from agains w left join busy b on b.webhook_id = w.webhook_id
                cross join lateral (
                  select y.id, row_number() over (order by y.next_at) as place from (
                    select d.id, d.next_at from webhook_deliveries d
                    where d.webhook_id = w.webhook_id and d.attempts > 0 and d.next_at <= ${now} and ${free}
                    order by d.next_at ${open}
                  ) y
                ) x
              ) candidates order by place, random() limit ${room}
            ),
            barriers as (
              select w.webhook_id, x.id from (select distinct webhook_id from due where is_first) w
              cross join lateral (
                select d.id from webhook_deliveries d
                where d.webhook_id = w.webhook_id and d.attempts = 0 and d.leased_by is distinct from ${node}
                  and d.id not in (select id from due)
                order by d.id limit 1
              ) x
            ),
            taken as (
              update webhook_deliveries d set leased_by = ${node}
              from due left join barriers b on b.webhook_id = due.webhook_id
              where d.id = due.id and (not due.is_first or b.id is null or due.id < b.id)
              returning d.*
            )
            select t.id, t.webhook_id, t.event_id, t.event, t.org_id, t.call_id, t.is_replay, t.is_resend, t.attempts,
              coalesce(h.url, '') as url, coalesce(h.secret, '') as secret, coalesce(h.is_active, false) as is_active,
              coalesce(h.consecutive_failures, 0) as consecutive_failures, e.project_id, e.agent_id,
              coalesce(e.api_version, '') as api_version, coalesce(e.data::text, '') as data,
              to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as timestamp
            from taken t
            left join lateral (select * from webhooks where webhooks.id = t.webhook_id offset 0) h on true
            left join lateral (select * from events where events.seq = t.event_seq offset 0) e on true
            order by t.id`
        },
        finish: (outcomes) => {
          const column = <A>(of: (outcome: Outcome) => A) => outcomes.map(of)
          return sql`
            with o as (
              select * from unnest(
                ${column((o) => o.delivery.id)}::bigint[],
                ${column((o) => o.node)}::text[],
                ${column((o) => o.delivery.attempts)}::int[],
                ${column((o) => o.delivery.url)}::text[],
                ${column((o) => o.at)}::timestamptz[],
                ${column((o) => o.status_code)}::int[],
                ${column((o) => o.error)}::text[],
                ${column((o) => o.next_at)}::timestamptz[]
              ) with ordinality as t (id, node, attempts, url, at, status_code, error, next_at, place)
            ),
            gone as (
              delete from webhook_deliveries d using o
              where d.id = o.id and d.leased_by = o.node and d.attempts = o.attempts and o.next_at is null
              returning d.*, o.url, o.at, o.status_code, o.error, o.place
            ),
            again as (
              update webhook_deliveries d
              set attempts = d.attempts + 1, leased_by = null, next_at = o.next_at, last_status_code = o.status_code
              from o
              where d.id = o.id and d.leased_by = o.node and d.attempts = o.attempts and o.next_at is not null
              returning d.*, o.url, o.at, o.status_code, o.error, o.place
            ),
            dead as (
              insert into webhook_dead_letters (
                webhook_id, org_id, event_seq, event_id, event, call_id, url, is_replay, attempts, last_status_code,
                last_error, failed_at
              )
              select g.webhook_id, g.org_id, g.event_seq, g.event_id, g.event, g.call_id, g.url, g.is_replay,
                g.attempts + (g.at is not null)::int, coalesce(g.status_code, g.last_status_code), g.error, now()
              from gone g
              where g.error is not null and exists (select 1 from webhooks h where h.id = g.webhook_id)
              order by g.place
            )
            insert into webhook_attempts (
              webhook_id, org_id, event_seq, event_id, event, call_id, url, attempt, status_code, success, error, created_at
            )
            select webhook_id, org_id, event_seq, event_id, event, call_id, url, attempt, status_code, error is null, error, at
            from (
              select webhook_id, org_id, event_seq, event_id, event, call_id, url, attempts + 1 as attempt, status_code,
                error, at, place from gone where at is not null
              union all
              select webhook_id, org_id, event_seq, event_id, event, call_id, url, attempts, status_code, error, at, place
              from again
            ) made order by place`.pipe(Effect.asVoid)
        },
        count: (tallies) => {
          if (tallies.length === 0) return Effect.succeed([])
          const column = <A>(of: (one: Tally) => A) => tallies.map(of)
          return sql<{ readonly id: number; readonly is_active: boolean }>`
            update webhooks h set
              failure_count = h.failure_count + t.failures,
              consecutive_failures = case when t.had_success then t.trailing else h.consecutive_failures + t.failures end,
              last_failure_at = case when t.failures > 0 then now() else h.last_failure_at end,
              is_active = h.is_active and not t.gone and t.longest < ${mostFailures}
                and h.consecutive_failures + t.leading < ${mostFailures},
              disabled_reason = case
                when not h.is_active then h.disabled_reason
                when t.gone then '410 Gone'
                when t.longest >= ${mostFailures} or h.consecutive_failures + t.leading >= ${mostFailures}
                  then ${`${mostFailures} consecutive failures`}
                else h.disabled_reason
              end
            from unnest(
              ${column((t) => t.webhook_id)}::bigint[],
              ${column((t) => t.failures)}::int[],
              ${column((t) => t.had_success)}::boolean[],
              ${column((t) => t.leading)}::int[],
              ${column((t) => t.trailing)}::int[],
              ${column((t) => t.longest)}::int[],
              ${column((t) => t.gone)}::boolean[]
            ) as t (webhook_id, failures, had_success, leading, trailing, longest, gone)
            where h.id = t.webhook_id and (t.failures > 0 or h.consecutive_failures > 0)
            returning h.id, h.is_active`.pipe(
            Effect.map((rows) => rows.flatMap(({ id, is_active }) => (is_active ? [] : [id])))
          )
        },
        release: (nodes, ids) =>
          sql`
            update webhook_deliveries set leased_by = null
            where leased_by = any(${nodes}::text[]) and ${ids === undefined ? sql`true` : sql`id = any(${ids}::bigint[])`}`.pipe(
            Effect.asVoid
          )
      }
    })
  )
}
