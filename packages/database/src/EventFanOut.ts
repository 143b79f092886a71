import { SqlClient, type SqlError, type Statement } from "@effect/sql"
import { Context, Effect, Layer } from "effect"

/**
 * Port that makes deliveries of events in the statement that writes them: the hot path of {@link Outbox} has one statement
 * for both. The webhooks package implements it.
 */
export class EventFanOut extends Context.Tag("@svc/database/EventFanOut")<
  EventFanOut,
  {
    /**
     * Executes `insert` and, in the same statement, inserts the deliveries of its events. `insert` inserts events and
     * returns their `seq`, `id`, `event`, `org_id`, `project_id`, `agent_id` and `call_id`.
     */
    readonly execute: (insert: Statement.Fragment) => Effect.Effect<void, SqlError.SqlError>
    /** A query for the `seq` of the events created before that time that must be kept. */
    readonly retained: (before: Date) => Statement.Fragment
  }
>() {
  /** Makes no deliveries and retains no event. */
  static readonly none: Layer.Layer<EventFanOut, never, SqlClient.SqlClient> = Layer.effect(
    EventFanOut,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      execute: (insert) => Effect.asVoid(sql`${insert}`),
      retained: () => sql`select null::bigint as seq where false`
    }))
  )
}
