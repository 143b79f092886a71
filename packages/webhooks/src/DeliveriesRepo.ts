import { SqlClient, SqlSchema } from "@effect/sql"
import { Envelope } from "@svc/api/events/Event"
import { DeadLetter, DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { Context, Effect, Layer, Option, Schema, type Scope } from "effect"
import { matches, mayReceive } from "./delivery/EventMatch.ts"

const Iso = Schema.transform(Schema.DateFromSelf, Schema.String, {
  strict: true,
  decode: (date) => date.toISOString(),
  encode: (text) => new Date(text)
})
const AttemptRow = Schema.Struct({ ...DeliveryRecord.fields, created_at: Iso })
/** A dead letter with its event. */
const DeadLetterRow = Schema.Struct({
  ...DeadLetter.omit("payload").fields,
  ...Envelope.pick("api_version", "org_id", "project_id", "agent_id", "data").fields,
  failed_at: Iso,
  happened_at: Iso
})

const toDeadLetter = (row: typeof DeadLetterRow.Type): DeadLetter => {
  const { agent_id, api_version, data, happened_at, org_id, project_id, ...deadLetter } = row
  const { event, event_id } = deadLetter
  return {
    ...deadLetter,
    payload: { id: event_id, event, timestamp: happened_at, api_version, org_id, project_id, agent_id, data }
  }
}

/** The history of a webhook that belongs to a project; with null all of it, as organization keys see it. */
export interface WebhookHistory {
  readonly webhook_id: number
  readonly project_id: number | null
}

/** Why deliveries become dead letters without an attempt. */
export const deadLetterReasons = {
  disabled: "webhook disabled",
  moved: "webhook was limited to another project"
} as const

/** What a resend did: `moved` when the webhook belongs to another project now than the event. */
export type Resent = "queued" | "unknown" | "moved"

/** An attempt outside the queue: a test. */
export interface TestAttempt {
  readonly webhook_id: number
  /** Whom the webhook belongs to. */
  readonly owner_project_id: number | null
  readonly org_id: number
  readonly event_id: string
  readonly event: string
  readonly url: string
  readonly status_code: number | null
  readonly error: string | null
  readonly created_at: Date
}

/** A page of rows, newest first: those with an id below `before`. */
interface Page extends WebhookHistory {
  readonly before: number | undefined
  readonly limit: number
}

/** The history, dead letters, resends and replays of the API. The worker uses QueueRepo. */
export class DeliveriesRepo extends Context.Tag("@svc/webhooks/DeliveriesRepo")<
  DeliveriesRepo,
  {
    readonly ofWebhook: (page: Page) => Effect.Effect<ReadonlyArray<DeliveryRecord>>
    /** Oldest first. */
    readonly ofCall: (callId: string, limit: number) => Effect.Effect<ReadonlyArray<DeliveryRecord>>
    readonly hasAttempt: (history: WebhookHistory, id: number) => Effect.Effect<boolean>
    readonly deadLetters: (page: Page) => Effect.Effect<ReadonlyArray<DeadLetter>>
    readonly hasDeadLetter: (history: WebhookHistory, id: number) => Effect.Effect<boolean>
    /** Returns the id of the attempt. */
    readonly record: (attempt: TestAttempt) => Effect.Effect<number>
    /** Adds a listener that is called when one of the functions below has queued deliveries, until the scope closes. */
    readonly onQueued: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
    /** Queues the event of an attempt again, and removes its dead letter. */
    readonly resend: (history: WebhookHistory, attemptId: number, now: Date) => Effect.Effect<Resent>
    /**
     * Queues the oldest dead letters again, and returns their number. Those that the webhook may no longer receive stay.
     * Concurrent calls resend different ones.
     */
    readonly resendDeadLetters: (history: WebhookHistory, now: Date, limit: number) => Effect.Effect<number>
    /**
     * Queues the events of a time range, both ends included, to which the webhook is subscribed, and returns their
     * number. When there are more than `limit`, it returns `limit + 1` and queues none.
     */
    readonly replay: (history: WebhookHistory, from: Date, to: Date, now: Date, limit: number) => Effect.Effect<number>
    /**
     * Dead-letters the pending deliveries of a webhook that was disabled, or those that it may no longer receive after it
     * was limited to a project. Without those that a node has claimed.
     */
    readonly deadLetterPending: (webhookId: number, why: keyof typeof deadLetterReasons) => Effect.Effect<void>
    /** Removes at most `limit` older attempts and as many dead letters. Returns the larger of the two numbers. */
    readonly removeBefore: (before: Date, limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<DeliveriesRepo, never, SqlClient.SqlClient> = Layer.effect(
    DeliveriesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const attemptColumns = sql.literal(Object.keys(DeliveryRecord.fields).join(", "))
      const within = ({ project_id, webhook_id }: WebhookHistory) =>
        project_id === null
          ? sql`webhook_id = ${webhook_id}`
          : sql`webhook_id = ${webhook_id} and owner_project_id = ${project_id}`
      const below = (before: number | undefined) => (before === undefined ? sql`true` : sql`id < ${before}`)

      const ofWebhook = SqlSchema.findAll({
        Request: Schema.Any,
        Result: AttemptRow,
        execute: ({ before, limit, ...history }: Page) => sql`
          select ${attemptColumns} from webhook_attempts
          where ${within(history)} and ${below(before)} order by id desc limit ${limit}`
      })
      const ofCall = SqlSchema.findAll({
        Request: Schema.Struct({ callId: Schema.String, limit: Schema.Number }),
        Result: AttemptRow,
        execute: ({ callId, limit }) => sql`
          select ${attemptColumns} from webhook_attempts
          where call_id = ${callId} order by created_at, attempt, id limit ${limit}`
      })
      const deadLetters = SqlSchema.findAll({
        Request: Schema.Any,
        Result: DeadLetterRow,
        execute: ({ before, limit, ...history }: Page) => sql`
          select d.id, d.event, d.event_id, d.url, d.attempts, d.last_status_code, d.last_error, d.failed_at,
            e.api_version, e.org_id, e.project_id, e.agent_id, e.data, e.created_at as happened_at
          from (
            select * from webhook_dead_letters
            where ${within(history)} and ${below(before)} order by id desc limit ${limit}
          ) d join events e on e.seq = d.event_seq
          order by d.id desc`
      })
      const listeners = new Set<() => void>()
      /** Notifies after the statement: what it queued is committed. */
      const queues = <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
        Effect.tap(statement, () =>
          Effect.sync(() => {
            for (const listener of listeners) listener()
          })
        )
      const exists = (rows: ReadonlyArray<unknown>) => rows.length > 0
      const first = <A>(rows: ReadonlyArray<A>) => Option.getOrThrow(Option.fromNullable(rows[0]))

      return {
        ofWebhook: (page) => Effect.orDie(ofWebhook(page)),
        ofCall: (callId, limit) => Effect.orDie(ofCall({ callId, limit })),
        hasAttempt: (history, id) =>
          sql`select 1 from webhook_attempts where id = ${id} and ${within(history)}`.pipe(
            Effect.map(exists),
            Effect.orDie
          ),
        deadLetters: (page) => Effect.map(Effect.orDie(deadLetters(page)), (rows) => rows.map(toDeadLetter)),
        hasDeadLetter: (history, id) =>
          sql`select 1 from webhook_dead_letters where id = ${id} and ${within(history)}`.pipe(
            Effect.map(exists),
            Effect.orDie
          ),
        record: ({ created_at, error, event, event_id, org_id, owner_project_id, status_code, url, webhook_id }) =>
          sql<{ readonly id: number }>`
            insert into webhook_attempts (
              webhook_id, owner_project_id, org_id, event_id, event, url, attempt, status_code, success, error, created_at
            ) values (
              ${webhook_id}, ${owner_project_id}, ${org_id}, ${event_id}, ${event}, ${url}, 1, ${status_code},
              ${error === null}, ${error}, ${created_at}
            ) returning id`.pipe(
            Effect.map((rows) => first(rows).id),
            Effect.orDie
          ),
        onQueued: (listener) =>
          Effect.acquireRelease(
            Effect.sync(() => void listeners.add(listener)),
            () => Effect.sync(() => void listeners.delete(listener))
          ),
        resend: (history, attemptId, now) =>
          sql<{ readonly may_receive: boolean }>`
            with attempt as (
              select a.*, ${mayReceive(sql)} as may_receive
              from (select * from webhook_attempts where id = ${attemptId} and ${within(history)}) a
              join events e on e.seq = a.event_seq join webhooks h on h.id = a.webhook_id
            ), dead as (
              delete from webhook_dead_letters d using attempt a
              where d.webhook_id = a.webhook_id and d.event_seq = a.event_seq and a.may_receive
            ), queued as (
              insert into webhook_deliveries (
                webhook_id, owner_project_id, event_seq, event_id, event, org_id, call_id, is_resend, next_at
              )
              select webhook_id, owner_project_id, event_seq, event_id, event, org_id, call_id, true, ${now}
              from attempt where may_receive
            )
            select may_receive from attempt`.pipe(
            Effect.map(([found]): Resent => (found === undefined ? "unknown" : found.may_receive ? "queued" : "moved")),
            Effect.orDie,
            queues
          ),
        resendDeadLetters: (history, now, limit) =>
          sql`
            with resent as (
              delete from webhook_dead_letters where id in (
                select d.id from (select * from webhooks where id = ${history.webhook_id}) h
                join webhook_dead_letters d on ${within(history)}
                join events e on e.seq = d.event_seq
                where ${mayReceive(sql)} order by d.id limit ${limit} for update of d skip locked
              ) returning *
            )
            insert into webhook_deliveries (
              webhook_id, owner_project_id, event_seq, event_id, event, org_id, call_id, is_replay, is_resend, next_at
            )
            select webhook_id, owner_project_id, event_seq, event_id, event, org_id, call_id, is_replay, true, ${now}
            from resent order by resent.id returning id`.pipe(
            Effect.map((rows) => rows.length),
            Effect.orDie,
            queues
          ),
        replay: ({ project_id, webhook_id }, from, to, now, limit) =>
          sql<{ readonly n: number }>`
            with found as (
              select h.project_id as owner_project_id, e.seq, e.id, e.event, e.org_id, e.call_id
              from webhooks h join events e on e.org_id = h.org_id
              where h.id = ${webhook_id} and ${project_id === null ? sql`true` : sql`h.project_id = ${project_id}`}
                and e.created_at >= ${from} and e.created_at <= ${to} and ${matches(sql)}
              limit ${limit + 1}
            ), total as (select count(*) as n from found),
            queued as (
              insert into webhook_deliveries (
                webhook_id, owner_project_id, event_seq, event_id, event, org_id, call_id, is_replay, next_at
              )
              select ${webhook_id}::bigint, owner_project_id, seq, id, event, org_id, call_id, true, ${now}
              from found, total where total.n <= ${limit} order by seq
            )
            select n from total`.pipe(
            Effect.map((rows) => first(rows).n),
            Effect.orDie,
            queues
          ),
        deadLetterPending: (webhookId, why) =>
          sql`
            with pending as (
              delete from webhook_deliveries d using webhooks h, events e
              where d.webhook_id = ${webhookId} and d.leased_by is null and h.id = d.webhook_id and e.seq = d.event_seq
                and ${why === "moved" ? sql`not ${mayReceive(sql)}` : sql`true`}
              returning d.*, h.url
            )
            insert into webhook_dead_letters (
              webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url, is_replay, attempts,
              last_status_code, last_error, failed_at
            )
            select webhook_id, owner_project_id, org_id, event_seq, event_id, event, call_id, url, is_replay, attempts,
              last_status_code, ${deadLetterReasons[why]}, now()
            from pending order by id`.pipe(Effect.asVoid, Effect.orDie),
        // Ids of attempts grow with their time, so it is enough to look at the lowest.
        removeBefore: (before, limit) =>
          sql<{ readonly n: number }>`
            with old as (
              delete from webhook_attempts where id in (
                select id from (select id, created_at from webhook_attempts order by id limit ${limit}) first
                where created_at < ${before}
              ) returning 1
            ), dead as (
              delete from webhook_dead_letters where id in (
                select id from webhook_dead_letters where failed_at < ${before} order by id limit ${limit}
              ) returning 1
            )
            select greatest((select count(*) from old), (select count(*) from dead)) as n`.pipe(
            Effect.map((rows) => first(rows).n),
            Effect.orDie
          )
      }
    })
  )
}
