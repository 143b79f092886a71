import { SqlClient, type SqlError, type Statement } from "@effect/sql"
import { plannedEachTime } from "@svc/database/Prepared"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { type Cause, Context, Effect, Either, Layer } from "effect"
import { claimStatement, untilDueStatement } from "./ClaimStatement.ts"
import type { EnvelopeParts } from "./DeliveryRequest.ts"
import { type FailureStreak, maxConsecutiveFailures } from "./FailureStreaks.ts"

/** Up to this many outcomes, planning for their number costs more than a generic plan. */
const maxGenericOutcomes = 32

/** A delivery that a node claimed, with the parts of its request. */
export interface ClaimedDelivery extends EnvelopeParts {
  readonly id: number
  readonly webhook_id: number
  readonly call_id: string | null
  readonly is_replay: boolean
  readonly is_resend: boolean
  /** Attempts made before. */
  readonly attempts: number
  /** Empty when the webhook was deleted. */
  readonly url: string
  readonly secret: string
  /** Why the secret cannot be decrypted; null when it can. */
  readonly secret_error: string | null
  readonly is_active: boolean
  /** False when the webhook was limited to a project whose event this is not. */
  readonly may_receive: boolean
  /** Of the webhook, at the time of the claim. */
  readonly consecutive_failures: number
}

/** A row of the claim, with the secret as it is stored. */
type StoredDelivery = Omit<ClaimedDelivery, "secret_error">

/** Which deliveries a node claims, and how many. */
export interface ClaimRequest {
  /** The node's lease. */
  readonly node: string
  readonly now: Date
  /** Deliveries to claim at most. */
  readonly room: number
  /** The same for each of these webhooks, and for each other one. */
  readonly roomByWebhook: ReadonlyMap<number, number>
  readonly roomPerOther: number
  /** Claims only first attempts for these webhooks, with ids above these: cheap, however long the queue is. */
  readonly webhooks?: ReadonlyMap<number, number> | undefined
  /** Of first attempts only those of events before this time are due, except replays and resends. */
  readonly firstAttemptsBefore?: Date | undefined
  /** No other node is alive. */
  readonly isOnlyNode: boolean
  /**
   * Also recovers deliveries whose claim was lost. These are the ids that the node holds: any other that has its lease
   * is free, because the result of a claim was lost, or a crash of the database undid the end of an attempt. A delivery
   * under the lease of a settled node is free too: that node may have claimed it after it was settled.
   */
  readonly held?: ReadonlyArray<number> | undefined
}

/** The result of an attempt, or the reason why a delivery is not attempted any more. */
export interface Outcome {
  readonly delivery: ClaimedDelivery
  /** The lease under which it was claimed: the outcome counts only while that lease holds the delivery. */
  readonly node: string
  /** When the attempt started, in milliseconds; null when there was none. */
  readonly at: number | null
  readonly status_code: number | null
  /** Null: delivered. */
  readonly error: string | null
  /** The time of the next attempt; null when there is none. */
  readonly next_at: Date | null
}

/** The deliveries that are pending in the whole installation. */
export interface DeliveryBacklog {
  readonly pending: number
  /** For how long the oldest due delivery has waited, in seconds; 0 when none is due. */
  readonly oldest_seconds: number
}

/**
 * A statement whose connection broke may never return and not be interruptible: after 5 seconds it is abandoned, and
 * the next one gets a connection that works.
 */
export const withStatementTimeout = <A, E>(
  statement: Effect.Effect<A, E>
): Effect.Effect<A, E | Cause.TimeoutException> => statement.pipe(Effect.disconnect, Effect.timeout("5 seconds"))

/**
 * The queue of deliveries. A row is a pending delivery; while a node works on it, the row has the node's lease, which
 * holds as long as the node lives. SQL errors are returned, because the worker retries while the database is
 * unreachable.
 */
export class QueueRepo extends Context.Tag("@svc/webhooks/QueueRepo")<
  QueueRepo,
  {
    /** Claims due deliveries and returns them in the order of their ids; see {@link claimStatement}. */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<ClaimedDelivery>, SqlError.SqlError>
    /**
     * Milliseconds until a pending delivery may be due. 0 or less: one is, or a node works on it; infinite: there is none.
     */
    readonly untilDue: (now: Date) => Effect.Effect<number, SqlError.SqlError>
    /** The same as an expression for DueCheck; null when there is none, or it is not asked for. */
    readonly untilDueIf: (isAsked: boolean, now: Date) => Statement.Fragment
    /** Records outcomes, all or none. Those of deliveries that the lease no longer holds change nothing. */
    readonly recordOutcomes: (outcomes: ReadonlyArray<Outcome>) => Effect.Effect<void, SqlError.SqlError>
    /** Updates failure counts, and returns the ids of webhooks that are inactive afterwards. */
    readonly recordStreaks: (
      streaks: ReadonlyArray<FailureStreak>
    ) => Effect.Effect<ReadonlyArray<number>, SqlError.SqlError>
    /** Releases the deliveries that these nodes hold, or only those with these ids. */
    readonly release: (
      nodes: ReadonlyArray<string>,
      ids?: ReadonlyArray<number>
    ) => Effect.Effect<void, SqlError.SqlError>
    /** How much is pending, for metrics; counts at most `limit` deliveries. */
    readonly backlog: (limit: number) => Effect.Effect<DeliveryBacklog, SqlError.SqlError>
  }
>() {
  static readonly layer: Layer.Layer<QueueRepo, never, SqlClient.SqlClient> = Layer.effect(
    QueueRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* StoredSecrets

      /** Secrets are decrypted when they are claimed for the first time. Assigned, not copied: a batch has thousands. */
      const opened = (row: StoredDelivery): ClaimedDelivery =>
        Either.match(box.open(row.secret, `webhooks.secret:${row.webhook_id}`), {
          onLeft: ({ message }) => Object.assign(row, { secret_error: message }),
          onRight: (secret) => Object.assign(row, { secret, secret_error: null })
        })

      /**
       * Commits need not wait for the disk: what a crash undoes is only done again. A delivery stays in the queue, and
       * an attempt that was not recorded is repeated. Always true, but it must be in the condition to be evaluated.
       */
      const asyncCommit = sql`(set_config('synchronous_commit', 'off', true) = 'off')`

      return {
        backlog: (limit) =>
          Effect.map(
            sql<DeliveryBacklog>`
              select count(*)::int as pending,
                greatest(0, coalesce(extract(epoch from now() - min(next_at)), 0))::float8 as oldest_seconds
              from (select next_at from webhook_deliveries limit ${limit}) counted`,
            ([backlog = { pending: 0, oldest_seconds: 0 }]) => backlog
          ),
        // Not decoded by a schema: the statement itself builds the rows, thousands a second.
        claim: (request) =>
          Effect.map(sql<StoredDelivery>`${claimStatement(sql, asyncCommit, request)}`, (rows) => rows.map(opened)),
        untilDue: (now) => Effect.map(untilDueStatement(sql, now), ([row]) => row?.ms ?? Number.POSITIVE_INFINITY),
        untilDueIf: (isAsked, now) => sql`case when ${isAsked}::boolean then (${untilDueStatement(sql, now)}) end`,
        recordOutcomes: (outcomes) => {
          const column = <A>(of: (outcome: Outcome) => A) => outcomes.map(of)
          // Finds rows by their ids: the join alone would compare each with all outcomes.
          const among = (isIncluded: (outcome: Outcome) => boolean) =>
            sql`d.id = any(${outcomes.filter(isIncluded).map((o) => o.delivery.id)}::bigint[]) and d.id = o.id + 0`
          const plan = outcomes.length > maxGenericOutcomes ? plannedEachTime : ""
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
            ended as (
              delete from webhook_deliveries d using o
              where ${among((o) => o.next_at === null)} and o.next_at is null
                and d.leased_by = o.node and d.attempts = o.attempts
              returning d.*, o.url, o.at, o.status_code, o.error, o.place
            ),
            retried as (
              update webhook_deliveries d
              set attempts = d.attempts + 1, leased_by = null, next_at = o.next_at, last_status_code = o.status_code
              from o
              where ${among((o) => o.next_at !== null)} and o.next_at is not null
                and d.leased_by = o.node and d.attempts = o.attempts
              returning d.*, o.url, o.at, o.status_code, o.error, o.place
            ),
            dead_lettered as (
              insert into webhook_dead_letters (
                webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url, is_replay, attempts,
                last_status_code, last_error, failed_at
              )
              select d.webhook_id, d.owner_project_id, d.org_id, d.event_seq, d.event_id, d.event, d.call_id, d.url, d.is_replay,
                d.attempts + (d.at is not null)::int, coalesce(d.status_code, d.last_status_code), d.error, now()
              from ended d
              where d.error is not null and exists (select 1 from webhooks h where h.id = d.webhook_id)
              order by d.place
            )
            insert into webhook_attempts (
              webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url, attempt, status_code, success,
              error, created_at
            )
            select webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url, attempt, status_code,
              error is null, error, to_timestamp(at / 1000)
            from (
              select webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url,
                attempts + 1 as attempt, status_code, error, at, place from ended where at is not null
              union all
              select webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url, attempts, status_code,
                error, at, place from retried
            ) attempted where ${asyncCommit} order by place`.pipe(Effect.asVoid)
        },
        recordStreaks: (streaks) => {
          if (streaks.length === 0) return Effect.succeed([])
          const column = <A>(of: (streak: FailureStreak) => A) => streaks.map(of)
          return sql<{ readonly id: number; readonly is_active: boolean }>`
            update webhooks h set
              failure_count = h.failure_count + t.failures,
              consecutive_failures = case when t.had_success then t.at_end else h.consecutive_failures + t.failures end,
              last_failure_at = case when t.failures > 0 then now() else h.last_failure_at end,
              is_active = h.is_active and not t.gone and t.longest < ${maxConsecutiveFailures}
                and h.consecutive_failures + t.at_start < ${maxConsecutiveFailures},
              disabled_reason = case
                when not h.is_active then h.disabled_reason
                when t.gone then '410 Gone'
                when t.longest >= ${maxConsecutiveFailures} or h.consecutive_failures + t.at_start >= ${maxConsecutiveFailures}
                  then ${`${maxConsecutiveFailures} consecutive failures`}
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
