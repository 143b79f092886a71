import { SqlClient } from "@effect/sql"
import { EventFanOut } from "@svc/database/EventFanOut"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import { matches } from "./EventMatch.ts"

/** Numbers of new deliveries, by webhook. */
export type NewDeliveries = ReadonlyMap<number, number>

/** Called when deliveries were inserted; `isCommitted` is false while their transaction is open. */
export type DeliveryListener = (created: NewDeliveries, isCommitted: boolean) => void

/**
 * Makes a pending delivery of each event for each webhook that subscribes to it: the implementation of
 * {@link EventFanOut}. Notifies listeners of this process, so that a worker need not poll for what its own node wrote.
 */
export class DeliveryFanOut extends Context.Tag("@svc/webhooks/DeliveryFanOut")<
  DeliveryFanOut,
  {
    /** Adds a listener until the scope closes. It is synchronous and must not throw. */
    readonly onDeliveries: (listener: DeliveryListener) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<DeliveryFanOut | EventFanOut, never, SqlClient.SqlClient> = Layer.effectContext(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const listeners = new Set<DeliveryListener>()

      const fanOut = EventFanOut.of({
        execute: Effect.fnUntraced(function* (insert) {
          const counts = yield* sql<{ readonly webhook_id: number; readonly n: number }>`
            with written as (${insert}),
            made as (
              insert into webhook_deliveries (
                webhook_id, owner_project_id, event_seq, event_id, event, org_id, call_id, next_at
              )
              select h.id, h.project_id, e.seq, e.id, e.event, e.org_id, e.call_id, now()
              from written e join webhooks h on h.org_id = e.org_id and h.is_active and ${matches(sql)}
              order by e.seq, h.id returning webhook_id
            )
            select webhook_id, count(*) as n from made group by webhook_id`
          if (counts.length === 0) return
          const created = new Map(counts.map(({ n, webhook_id }) => [webhook_id, n]))
          const isCommitted = Option.isNone(yield* Effect.serviceOption(SqlClient.TransactionConnection))
          for (const listener of listeners) listener(created, isCommitted)
        }),
        // A dead letter can be resent as long as it is kept, so it needs its event.
        retained: (before) => sql`
          select e.seq from webhook_deliveries d join events e on e.seq = d.event_seq where e.created_at < ${before}
          union all
          select e.seq from webhook_dead_letters d join events e on e.seq = d.event_seq where e.created_at < ${before}`
      })
      const onDeliveries = (listener: DeliveryListener) =>
        Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => void listeners.delete(listener))
        )
      return Context.make(EventFanOut, fanOut).pipe(Context.add(DeliveryFanOut, { onDeliveries }))
    })
  )
}
