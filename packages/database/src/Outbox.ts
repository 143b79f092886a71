import { SqlClient } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import { apiVersion, type EventDraft, schemaViolationOf } from "@svc/api/events/Event"
import { AgentId, CallId, EventId, newEventId, newEventIds } from "@svc/api/Ids"
import { JsonObject } from "@svc/api/Wire"
import { Context, Effect, identity, Layer, Schema } from "effect"
import { EventFanOut } from "./EventFanOut.ts"
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

/**
 * The table of events (docs/reference/events.md). An event is written in the transaction of the change that it reports,
 * so that neither exists without the other. {@link EventFanOut} makes its deliveries in the same statement.
 */
export class Outbox extends Context.Tag("@svc/database/Outbox")<
  Outbox,
  {
    /**
     * Writes one event, in the caller's transaction when there is one, and returns its id. An event whose data does not
     * match its schema is logged and not written: the change that it reports must not fail because of it.
     */
    readonly append: (event: EventDraft) => Effect.Effect<EventId>
    /** Writes many events in one statement, in their order. */
    readonly appendAll: (events: ReadonlyArray<EventDraft>) => Effect.Effect<ReadonlyArray<EventId>>
    /** Replaces this customer's data in every event about it, to erase its personal data. */
    readonly replaceCustomer: (customer: BookingCustomer) => Effect.Effect<void>
    /**
     * At most `limit` events after `seq`, oldest first. Events of a transaction that commits late appear late, below
     * numbers already read: a worker that must not miss any has to mark what it has processed.
     */
    readonly after: (seq: number, limit: number) => Effect.Effect<ReadonlyArray<StoredEvent>>
    /** Removes at most `limit` events created before that time, oldest first, except those that the fan-out retains. */
    readonly removeBefore: (before: Date, limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<Outbox, never, SqlClient.SqlClient | EventFanOut> = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const fanOut = yield* EventFanOut
      const decode = Schema.decodeUnknown(Schema.Array(StoredEvent))

      const logViolation = (id: EventId, draft: EventDraft, violation: string) =>
        Effect.logError(
          `The event ${id} (${draft.event} of ${draft.call_id ?? draft.project_id ?? draft.org_id}) does not match its schema and is not written: ${violation}`
        ).pipe(draft.call_id === null ? identity : Effect.annotateLogs("call_id", draft.call_id))

      const insert = Effect.fnUntraced(function* (newIds: ReadonlyArray<EventId>, drafts: ReadonlyArray<EventDraft>) {
        const ids: Array<EventId> = []
        const events: Array<EventDraft> = []
        for (const [index, id] of newIds.entries()) {
          const draft = drafts[index]
          if (draft === undefined) continue
          const violation = schemaViolationOf(draft)
          if (violation === undefined) {
            ids.push(id)
            events.push(draft)
          } else yield* logViolation(id, draft, violation)
        }
        if (events.length === 0) return
        const drafted = events.map(({ agent_id, call_id, data, event, org_id, project_id, timestamp }, index) => ({
          id: ids[index],
          event,
          org_id,
          project_id,
          agent_id,
          call_id,
          data,
          created_at: timestamp
        }))
        yield* fanOut.execute(sql`
          insert into events (id, event, api_version, org_id, project_id, agent_id, call_id, data, created_at)
          select id, event, ${apiVersion}, org_id, project_id, agent_id, call_id, data, created_at
          from rows from (jsonb_to_recordset(${jsonbText(drafted)}::jsonb) as (
            id text, event text, org_id bigint, project_id bigint, agent_id text, call_id text, data jsonb,
            created_at timestamptz
          )) with ordinality as draft (id, event, org_id, project_id, agent_id, call_id, data, created_at, place)
          order by place returning seq, id, event, org_id, project_id, agent_id, call_id`)
      }, Effect.orDie)

      const appendAll = Effect.fn("Outbox.appendAll")(function* (events: ReadonlyArray<EventDraft>) {
        const ids = yield* newEventIds(events.length)
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

      const removeBefore = Effect.fn("Outbox.removeBefore")(function* (before: Date, limit: number) {
        // Few old events are retained: finding them first makes the search for the others fast.
        const removed = yield* sql`
          with retained as materialized (${fanOut.retained(before)})
          delete from events where seq in (
            select seq from events
            where created_at < ${before}
              and not exists (select 1 from retained where retained.seq = events.seq)
            order by created_at limit ${limit}
          ) returning 1`
        return removed.length
      }, Effect.orDie)

      return { append, appendAll, replaceCustomer, after, removeBefore }
    })
  )

  /** Events without deliveries, for tests of packages that only write them. */
  static readonly layerWithoutDeliveries: Layer.Layer<Outbox, never, SqlClient.SqlClient> = Layer.provide(
    Outbox.layer,
    EventFanOut.none
  )
}
