import { SqlClient } from "@effect/sql"
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
  request: Schema.String,
  response: Schema.NullOr(Schema.String)
})

/** SQL of `callback_exchanges`: the requests to agents' servers, which the debug page shows. */
export class ServerRequestsRepo extends Context.Tag("@svc/call-engine/ServerRequestsRepo")<
  ServerRequestsRepo,
  {
    readonly insert: (rows: ReadonlyArray<ServerRequestRow>) => Effect.Effect<void>
    /** Oldest first. `callId` is the numeric id. */
    readonly ofCall: (callId: number) => Effect.Effect<ReadonlyArray<ServerRequest>>
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
                select * from unnest(
                  ${rows.map((r) => r.call_id)}::bigint[],
                  ${rows.map((r) => r.event)}::text[],
                  ${rows.map((r) => new Date(r.started_at))}::timestamptz[],
                  ${rows.map((r) => r.duration_ms)}::int[],
                  ${rows.map((r) => r.status)}::int[],
                  ${rows.map((r) => r.content_type)}::text[],
                  ${rows.map((r) => r.error)}::text[],
                  ${rows.map((r) => r.request)}::text[],
                  ${rows.map((r) => r.response)}::text[])`.pipe(Effect.asVoid, Effect.orDie),
        ofCall: Effect.fn("ServerRequestsRepo.ofCall")(function* (callId: number) {
          const rows = yield* sql`
            select event, (extract(epoch from started_at) * 1000)::float8 as started_at, duration_ms, status,
              content_type, error, request, response
            from callback_exchanges where call_id = ${callId} order by id`
          return yield* Schema.decodeUnknown(Schema.Array(Stored))(rows)
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
