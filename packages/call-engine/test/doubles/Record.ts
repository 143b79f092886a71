import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { until } from "./Engine.ts"

interface Row {
  readonly id: number
  readonly call_id: string
  readonly status: string
  readonly disposition: string | null
  readonly ended_reason: string | null
  readonly answered_at: Date | null
  readonly ended_at: Date | null
  readonly turns: ReadonlyArray<{ readonly role: string; readonly content: string }>
}

interface StoredEvent {
  readonly event: string
  readonly data: { readonly [key: string]: unknown }
}

/** The stored rows and events of one call. */
export interface CallRecord extends Row {
  /** `role: content` */
  readonly transcript: ReadonlyArray<string>
  readonly events: ReadonlyArray<StoredEvent>
  /** Names of the `call.…` events, in order. */
  readonly call_events: ReadonlyArray<string>
  /** Status, disposition and ended_reason in one line. */
  readonly outcome: string
}

const rows = (number: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<Row>`
      select id, public_id as call_id, status, disposition, ended_reason, answered_at, ended_at, transcript as turns
      from calls where to_number = ${number} order by id`
  )

/** The one call to a number as it is now, or undefined. */
export const now = (number: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* rows(number)
    if (row === undefined) return undefined
    const events = yield* sql<StoredEvent>`select event, data from events where call_id = ${row.call_id} order by seq`
    return {
      ...row,
      transcript: row.turns.map(({ content, role }) => `${role}: ${content}`),
      events,
      call_events: events.flatMap(({ event }) => (event.startsWith("call.") ? [event] : [])),
      outcome: `${row.status} ${row.disposition} ${row.ended_reason}`
    } satisfies CallRecord
  })

/** The one call to a number, once its record is settled. */
export const settled = (number: string): Effect.Effect<CallRecord, unknown, SqlClient.SqlClient> =>
  Effect.flatMap(
    until(rows(number), ([row]) => row !== undefined && row.ended_at !== null),
    () =>
      Effect.flatMap(now(number), (record) =>
        record === undefined ? Effect.dieMessage("the call is gone") : Effect.succeed(record)
      )
  ).pipe(Effect.timeout("20 seconds"))

/** The data of the events of one name. */
export const dataOf = (record: CallRecord, event: string) =>
  record.events.flatMap((e) => (e.event === event ? [e.data] : []))
