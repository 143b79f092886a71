import { SqlClient } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import { apiVersion, type EventDraft, misfitOf } from "@svc/api/events/Event"
import { AgentId, CallId, EventId, newEventId } from "@svc/api/Ids"
import { JsonObject } from "@svc/api/Wire"
import { Context, Effect, Layer, Option, Schema, type Scope } from "effect"
import { jsonbText } from "./Jsonb.ts"
import { matches } from "./Matching.ts"

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

/** Deliveries that events brought about: how many, by webhook. */
export type Owed = ReadonlyMap<number, number>

/**
 * Events on their way to subscribers (spec 6, decisions §5.9). Appended inside the transaction of the change that they
 * tell of, so that neither exists without the other, and in the same statement made into what each webhook is owed.
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
     * Until the scope closes, is called when events were written that webhooks get; they are committed already, or will be
     * with the transaction that they are part of. Synchronous, and must not throw. It hears of this process's events only.
     */
    readonly onAppend: (listener: (owed: Owed, isCommitted: boolean) => void) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Removes at most `limit` events that are older, oldest first, but none that a webhook is still to get: that waits
     * for an attempt, or is a dead letter, which can be sent again as long as it is kept.
     */
    readonly forget: (before: Date, limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<Outbox, never, SqlClient.SqlClient> = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const listeners = new Set<(owed: Owed, isCommitted: boolean) => void>()
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
        const owed = yield* sql<{ readonly webhook_id: number; readonly n: number }>`
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
            order by place returning seq, id, event, org_id, project_id, agent_id, call_id
          ),
          made as (
            insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, next_at)
            select h.id, e.seq, e.id, e.event, e.org_id, e.call_id, now()
            from written e join webhooks h on h.org_id = e.org_id and h.is_active and ${matches(sql)}
            order by e.seq, h.id returning webhook_id
          )
          select webhook_id, count(*) as n from made group by webhook_id`
        if (owed.length === 0) return
        const byWebhook = new Map(owed.map(({ n, webhook_id }) => [webhook_id, n]))
        const isCommitted = Option.isNone(yield* Effect.serviceOption(SqlClient.TransactionConnection))
        for (const listener of listeners) listener(byWebhook, isCommitted)
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

      const onAppend = (listener: (owed: Owed, isCommitted: boolean) => void) =>
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
              and not exists (select 1 from owed where owed.seq = events.seq)
            order by created_at limit ${limit}
          ) returning 1`
        return gone.length
      }, Effect.orDie)

      return { append, appendAll, replaceCustomer, after, onAppend, forget }
    })
  )
}
