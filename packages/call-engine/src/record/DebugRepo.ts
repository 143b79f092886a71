import { SqlClient } from "@effect/sql"
import { Call } from "@svc/api/calls/Call"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { CallbackExchange } from "../agent-server/CallbackExchange.ts"

const Tokens = Schema.Array(Schema.Struct({ debug_token: Schema.NullOr(Schema.String) }))
const Owners = Schema.Array(Schema.Struct({ id: Schema.Int, public_id: Call.fields.call_id, project_id: Schema.Int }))

const Exchange = Schema.Struct({
  event: Schema.String,
  started_at: Schema.Number,
  duration_ms: Schema.Int,
  status: Schema.NullOr(Schema.Int),
  error: Schema.NullOr(Schema.String),
  request: Schema.String,
  response: Schema.NullOr(Schema.String)
})

/** The tokens of calls, the calls of tokens, and what is kept only for debug pages. `days`: how old a call may be. */
export class DebugRepo extends Context.Tag("@svc/call-engine/DebugRepo")<
  DebugRepo,
  {
    /** None for a call that has no token, or none any more. */
    readonly tokenOf: (callId: string, days: number) => Effect.Effect<Option.Option<string>>
    readonly callOf: (
      token: string,
      days: number
    ) => Effect.Effect<Option.Option<{ readonly id: number; readonly public_id: string; readonly project_id: number }>>
    /** What the agent's server was asked and told, the oldest first. */
    readonly exchanges: (callId: number) => Effect.Effect<ReadonlyArray<CallbackExchange>>
    /** Deletes at most so many exchanges that are older, and tells how many. */
    readonly forgetExchanges: (days: number, limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<DebugRepo, never, SqlClient.SqlClient> = Layer.effect(
    DebugRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const young = (days: number) => sql`started_at > now() - make_interval(days => ${days}::int)`
      return {
        tokenOf: Effect.fn("DebugRepo.tokenOf")(function* (callId: string, days: number) {
          const rows = yield* sql`select debug_token from calls where public_id = ${callId} and ${young(days)}`
          const [row] = yield* Schema.decodeUnknown(Tokens)(rows)
          return Option.fromNullable(row?.debug_token)
        }, Effect.orDie),
        callOf: Effect.fn("DebugRepo.callOf")(function* (token: string, days: number) {
          const rows =
            yield* sql`select id, public_id, project_id from calls where debug_token = ${token} and ${young(days)}`
          const [row] = yield* Schema.decodeUnknown(Owners)(rows)
          return Option.fromNullable(row)
        }, Effect.orDie),
        exchanges: Effect.fn("DebugRepo.exchanges")(function* (callId: number) {
          const rows = yield* sql`
            select event, (extract(epoch from started_at) * 1000)::float8 as started_at, duration_ms, status, error,
              request, response
            from callback_exchanges where call_id = ${callId} order by id`
          return yield* Schema.decodeUnknown(Schema.Array(Exchange))(rows)
        }, Effect.orDie),
        forgetExchanges: Effect.fn("DebugRepo.forgetExchanges")(function* (days: number, limit: number) {
          const gone = yield* sql`
            delete from callback_exchanges where id in (
              select id from callback_exchanges where started_at < now() - make_interval(days => ${days}::int)
              order by started_at limit ${limit}
            ) returning 1`
          return gone.length
        }, Effect.orDie)
      }
    })
  )
}
