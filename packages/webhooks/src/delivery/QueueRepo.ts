import { SqlClient, type SqlError } from "@effect/sql"
import { plannedEachTime } from "@svc/database/Prepared"
import { Context, Effect, Layer } from "effect"
import { claimStatement } from "./ClaimStatement.ts"
import type { EnvelopeParts } from "./Letters.ts"
import { mostFailures, type Tally } from "./Tally.ts"

/** So few that planning for them costs more than a plan for any number. */
const fewOutcomes = 32

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
  /** The same by webhook, and for each of the others. */
  readonly roomLeft: ReadonlyMap<number, number>
  readonly roomForOthers: number
  /** Look only at first attempts for these webhooks, with higher ids than these: costs little, however much waits. */
  readonly only?: ReadonlyMap<number, number> | undefined
  /** First attempts of events that are younger are not due, those of replays and resends aside. */
  readonly firstBefore?: Date | undefined
  /** Whether no other node is alive. */
  readonly alone: boolean
  /**
   * Deliveries that the node knows to have, when it reckons: then what has its lease and is not among them is free, since
   * the answer that gave it was lost, or the database forgot its end in a crash; and so is what has the lease of a node
   * that is settled, which may have taken it too late to hear of that.
   */
  readonly known?: ReadonlyArray<number> | undefined
}

/** What became of an attempt, or of a delivery that is not attempted any more. */
export interface Outcome {
  readonly delivery: Claimed
  /** The lease under which it was taken: the outcome counts only as long as that holds the delivery. */
  readonly node: string
  /** When it started, in milliseconds; null when there was no attempt. */
  readonly at: number | null
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
     * Takes deliveries that are due, in order of their ids. Each webhook gets its first before any gets its second. First
     * attempts of a webhook are taken in the order of the queue, and none while an earlier one of its call is with another
     * node.
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

      /**
       * What a database forgets of these when it crashes is done again, and what it tells otherwise is true: a
       * delivery stays in the queue, an attempt that was not written down is made once more. So no commit waits for its
       * disk. True, and has to be asked for, or it is not carried out.
       */
      const unhurried = sql`(set_config('synchronous_commit', 'off', true) = 'off')`

      return {
        // Rows as this very statement made them: they are not decoded once more, there are thousands a second.
        claim: (ask) => sql<Claimed>`${claimStatement(sql, unhurried, ask)}`,
        finish: (outcomes) => {
          const column = <A>(of: (outcome: Outcome) => A) => outcomes.map(of)
          // Rows by their ids and not by the join, which looks each up by all of them.
          const among = (which: (outcome: Outcome) => boolean) =>
            sql`d.id = any(${outcomes.filter(which).map((o) => o.delivery.id)}::bigint[]) and d.id = o.id + 0`
          const plan = outcomes.length > fewOutcomes ? plannedEachTime : ""
          return sql`${sql.literal(plan)}
            with o as (
              select * from unnest(
                ${column((o) => o.delivery.id)}::bigint[],
                ${column((o) => o.node)}::text[],
                ${column((o) => o.delivery.attempts)}::int[],
                ${column((o) => o.delivery.url)}::text[],
                ${column((o) => o.at)}::float8[],
                ${column((o) => o.status_code)}::int[],
                ${column((o) => o.error)}::text[],
                ${column((o) => o.next_at)}::timestamptz[]
              ) with ordinality as t (id, node, attempts, url, at, status_code, error, next_at, place)
            ),
            gone as (
              delete from webhook_deliveries d using o
              where ${among((o) => o.next_at === null)} and o.next_at is null
                and d.leased_by = o.node and d.attempts = o.attempts
              returning d.*, o.url, o.at, o.status_code, o.error, o.place
            ),
            again as (
              update webhook_deliveries d
              set attempts = d.attempts + 1, leased_by = null, next_at = o.next_at, last_status_code = o.status_code
              from o
              where ${among((o) => o.next_at !== null)} and o.next_at is not null
                and d.leased_by = o.node and d.attempts = o.attempts
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
            select webhook_id, org_id, event_seq, event_id, event, call_id, url, attempt, status_code, error is null, error,
              to_timestamp(at / 1000)
            from (
              select webhook_id, org_id, event_seq, event_id, event, call_id, url, attempts + 1 as attempt, status_code,
                error, at, place from gone where at is not null
              union all
              select webhook_id, org_id, event_seq, event_id, event, call_id, url, attempts, status_code, error, at, place
              from again
            ) made where ${unhurried} order by place`.pipe(Effect.asVoid)
        },
        count: (tallies) => {
          if (tallies.length === 0) return Effect.succeed([])
          const column = <A>(of: (one: Tally) => A) => tallies.map(of)
          return sql<{ readonly id: number; readonly is_active: boolean }>`
            update webhooks h set
              failure_count = h.failure_count + t.failures,
              consecutive_failures = case when t.had_success then t.at_end else h.consecutive_failures + t.failures end,
              last_failure_at = case when t.failures > 0 then now() else h.last_failure_at end,
              is_active = h.is_active and not t.gone and t.longest < ${mostFailures}
                and h.consecutive_failures + t.at_start < ${mostFailures},
              disabled_reason = case
                when not h.is_active then h.disabled_reason
                when t.gone then '410 Gone'
                when t.longest >= ${mostFailures} or h.consecutive_failures + t.at_start >= ${mostFailures}
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
            ) as t (webhook_id, failures, had_success, at_start, at_end, longest, gone)
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
