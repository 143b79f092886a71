import { SqlClient } from "@effect/sql"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, Schema } from "effect"
import type { ServerRequest } from "../agent-server/ServerRequest.ts"

/** A request to the agent's server during a call. `call_id` is the call's numeric id. */
export interface ServerRequestRow extends ServerRequest {
  readonly call_id: number
}

const Stored = Schema.Struct({
  event: Schema.String,
  started_at: Schema.Number,
  duration_ms: Schema.Int,
  status: Schema.NullOr(Schema.Int),
  content_type: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String),
  request: Schema.NullOr(Schema.String),
  response: Schema.NullOr(Schema.String)
})
const StoredRow = Schema.Struct({ ...Stored.fields, total: Schema.Int })

/** A request as it is read; older ones without their bodies. */
export type StoredServerRequest = typeof Stored.Type

/** The most requests that are read of a call, and of how many of these the bodies. */
const maxRead = { requests: 100, bodies: 20 } as const

/** SQL of `callback_exchanges`: the requests to agents' servers, which the debug page shows. */
export class ServerRequestsRepo extends Context.Tag("@svc/call-engine/ServerRequestsRepo")<
  ServerRequestsRepo,
  {
    readonly insert: (rows: ReadonlyArray<ServerRequestRow>) => Effect.Effect<void>
    /** The newest 100 of a call, oldest first, and how many older ones there are. `callId` is the numeric id. */
    readonly newestOfCall: (
      callId: number
    ) => Effect.Effect<{ readonly requests: ReadonlyArray<StoredServerRequest>; readonly leftOut: number }>
    /** Deletes at most `limit` requests older than `days`, and returns how many. */
    readonly deleteOlder: (days: number, limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<ServerRequestsRepo, never, SqlClient.SqlClient> = Layer.effect(
    ServerRequestsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return {
        insert: (rows) =>
          rows.length === 0
            ? Effect.void
            : sql`
                insert into callback_exchanges (call_id, event, started_at, duration_ms, status, content_type, error, request,
                  response)
                select call_id, event, to_timestamp(started_at / 1000), duration_ms, status, content_type, error, request,
                  response
                from jsonb_to_recordset(${jsonbText(rows)}::jsonb) as row (
                  call_id bigint, event text, started_at float8, duration_ms int, status int, content_type text, error text,
                  request text, response text)`.pipe(Effect.asVoid, Effect.orDie),
        newestOfCall: Effect.fn("ServerRequestsRepo.newestOfCall")(function* (callId: number) {
          const rows = yield* sql`
            select event, (extract(epoch from started_at) * 1000)::float8 as started_at, duration_ms, status,
              content_type, error, total, case when nth <= ${maxRead.bodies} then request end as request,
              case when nth <= ${maxRead.bodies} then response end as response
            from (
              select *, row_number() over (order by id desc) as nth, count(*) over ()::int as total
              from callback_exchanges where call_id = ${callId}
            ) as all_requests where nth <= ${maxRead.requests} order by id`
          const stored = yield* Schema.decodeUnknown(Schema.Array(StoredRow))(rows)
          const requests = stored.map(({ total: _, ...request }) => request)
          return { requests, leftOut: (stored[0]?.total ?? 0) - requests.length }
        }, Effect.orDie),
        deleteOlder: Effect.fn("ServerRequestsRepo.deleteOlder")(function* (days: number, limit: number) {
          const deleted = yield* sql`
            delete from callback_exchanges where id in (
              select id from callback_exchanges where started_at < now() - make_interval(days => ${days}::int)
              order by started_at limit ${limit}
            ) returning 1`
          return deleted.length
        }, Effect.orDie)
      }
    })
  )
}
