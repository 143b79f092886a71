import { SqlClient, type Statement } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import { apiVersion, type EventDraft, misfitOf } from "@svc/api/events/Event"
import { AgentId, CallId, EventId, newEventId } from "@svc/api/Ids"
import { JsonObject } from "@svc/api/Wire"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { jsonbText } from "./Jsonb.ts"

/** An event as it was written. `seq` numbers them in the order in which they were appended. */
export const StoredEvent = Schema.Struct({
  seq: Schema.Int,
  id: EventId,
  event: Schema.String,
  api_version: Schema.String,
  org_id: Schema.Int,
  project_id: Schema.NullOr(Schema.Int),
  agent_id: Schema.NullOr(AgentId),
  call_id: Schema.NullOr(CallId),
  data: JsonObject,
  created_at: Schema.DateTimeUtcFromDate
})
export type StoredEvent = typeof StoredEvent.Type

/** Any number that no other advisory lock of ours uses. */
const lock = 5_782_003

/**
 * Two common table expressions, `turn` and `taken (seq)`, for the one statement that turns events into deliveries: they
 * take at most `limit` events out of the outbox, oldest first, each once for ever. One statement at a time in the whole
 * cluster takes any, so that what it makes of them follows the order of the events; the others find none.
 */
export const takenEvents = (sql: SqlClient.SqlClient, limit: number): Statement.Fragment => sql`
  turn as materialized (select pg_try_advisory_xact_lock(${lock}) as mine),
  taken as (
    delete from outbox where seq in (
      select o.seq from outbox o, turn where turn.mine order by o.seq limit ${limit} for update of o skip locked
    ) returning seq
  )`

/**
 * Events on their way to subscribers (spec 6, decisions §5.9). Appended inside the transaction of the change that they
 * tell of, so that neither exists without the other; webhooks take them from here.
 */
export class Outbox extends Context.Tag("@svc/database/Outbox")<
  Outbox,
  {
    /**
     * Writes one event; part of the caller's transaction when there is one. Gives the event's id. One whose data is not
     * what its schema says is reported in the log and left out: the change that it tells of goes on.
     */
    readonly append: (event: EventDraft) => Effect.Effect<EventId>
    /** Writes many in one statement, in their order. */
    readonly appendAll: (events: ReadonlyArray<EventDraft>) => Effect.Effect<ReadonlyArray<EventId>>
    /** Puts this customer in place of itself in every event that tells of it: its personal data is to be forgotten. */
    readonly replaceCustomer: (customer: BookingCustomer) => Effect.Effect<void>
    /**
     * At most `limit` events that come after `seq`, oldest first. A transaction that commits late shows its events
     * late, below numbers already seen: a worker that must miss none marks what it took, and does not go by `seq`.
     */
    readonly after: (seq: number, limit: number) => Effect.Effect<ReadonlyArray<StoredEvent>>
    /**
     * Until the scope closes, is called when events were written, before they are committed. Synchronous, and must not
     * throw. It hears of this process's events only.
     */
    readonly onAppend: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Removes at most `limit` events that are older, oldest first, but none that a webhook is still to get: that is in the
     * outbox, waits for an attempt, or is a dead letter, which can be sent again as long as it is kept.
     */
    readonly forget: (before: Date, limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<Outbox, never, SqlClient.SqlClient> = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const listeners = new Set<() => void>()
      const decode = Schema.decodeUnknown(Schema.Array(StoredEvent))

      const report = (id: EventId, draft: EventDraft, misfit: string) =>
        Effect.logError(
          `The event ${id} (${draft.event} of ${draft.call_id ?? draft.project_id ?? draft.org_id}) does not fit its schema and is not sent: ${misfit}`
        )

      const insert = Effect.fnUntraced(function* (drafted: ReadonlyArray<EventId>, drafts: ReadonlyArray<EventDraft>) {
        const ids: Array<EventId> = []
        const events: Array<EventDraft> = []
        for (const [index, id] of drafted.entries()) {
          const draft = drafts[index]
          if (draft === undefined) continue
          const misfit = misfitOf(draft)
          if (misfit === undefined) {
            ids.push(id)
            events.push(draft)
          } else yield* report(id, draft, misfit)
        }
        if (events.length === 0) return
        const column = <A>(of: (event: EventDraft) => A) => events.map(of)
        yield* sql`
          with written as (
          insert into events (id, event, api_version, org_id, project_id, agent_id, call_id, data, created_at)
          select id, event, ${apiVersion}, org_id, project_id, agent_id, call_id, data::jsonb, created_at
          from unnest(
            ${ids}::text[],
            ${column((e) => e.event)}::text[],
            ${column((e) => e.org_id)}::bigint[],
            ${column((e) => e.project_id)}::bigint[],
            ${column((e) => e.agent_id)}::text[],
            ${column((e) => e.call_id)}::text[],
            ${column((e) => jsonbText(e.data))}::text[],
            ${column((e) => e.timestamp)}::timestamptz[]
          ) with ordinality as draft (id, event, org_id, project_id, agent_id, call_id, data, created_at, place)
          order by place returning seq)
          insert into outbox (seq) select seq from written`
        for (const listener of listeners) listener()
      }, Effect.orDie)

      const appendAll = Effect.fn("Outbox.appendAll")(function* (events: ReadonlyArray<EventDraft>) {
        const ids = yield* Effect.replicateEffect(newEventId, events.length)
        yield* insert(ids, events)
        return ids
      })

      const append = Effect.fn("Outbox.append")(function* (event: EventDraft) {
        const id = yield* newEventId
        yield* insert([id], [event])
        return id
      })

      const replaceCustomer = Effect.fn("Outbox.replaceCustomer")(function* (customer: BookingCustomer) {
        yield* sql`
          update events set data = jsonb_set(data, '{customer}', ${jsonbText(customer)}::jsonb)
          where data ? 'customer_id' and data ->> 'customer_id' = ${customer.id}`
      }, Effect.orDie)

      const after = Effect.fn("Outbox.after")(function* (seq: number, limit: number) {
        const rows = yield* sql`
          select seq, id, event, api_version, org_id, project_id, agent_id, call_id, data, created_at
          from events where seq > ${seq} order by seq limit ${limit}`
        return yield* decode(rows)
      }, Effect.orDie)

      const onAppend = (listener: () => void) =>
        Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => void listeners.delete(listener))
        )

      const forget = Effect.fn("Outbox.forget")(function* (before: Date, limit: number) {
        // Of those that are old few are owed to anybody: they are sought out first, so that all others go fast.
        const gone = yield* sql`
          with owed as materialized (
            select e.seq from webhook_deliveries d join events e on e.seq = d.event_seq where e.created_at < ${before}
            union all
            select e.seq from webhook_dead_letters d join events e on e.seq = d.event_seq where e.created_at < ${before}
          )
          delete from events where seq in (
            select seq from events
            where created_at < ${before}
              and not exists (select 1 from outbox where outbox.seq = events.seq)
              and not exists (select 1 from owed where owed.seq = events.seq)
            order by created_at limit ${limit}
          ) returning 1`
        return gone.length
      }, Effect.orDie)

      return { append, appendAll, replaceCustomer, after, onAppend, forget }
    })
  )
}
