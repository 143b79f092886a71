import { SqlClient } from "@effect/sql"
import { Call } from "@svc/api/calls/Call"
import { Context, Effect, Layer, Option, Schema } from "effect"

const Tokens = Schema.Array(Schema.Struct({ debug_token: Schema.NullOr(Schema.String) }))
const Owners = Schema.Array(Schema.Struct({ id: Schema.Int, public_id: Call.fields.call_id, project_id: Schema.Int }))

/** SQL of the tokens of debug pages. `days`: the maximum age of a call. */
export class DebugRepo extends Context.Tag("@svc/call-engine/DebugRepo")<
  DebugRepo,
  {
    /** None for a call without a token, or one that started earlier. */
    readonly tokenOf: (callId: string, days: number) => Effect.Effect<Option.Option<string>>
    readonly callOf: (
      token: string,
      days: number
    ) => Effect.Effect<Option.Option<{ readonly id: number; readonly public_id: string; readonly project_id: number }>>
  }
>() {
  static readonly layer: Layer.Layer<DebugRepo, never, SqlClient.SqlClient> = Layer.effect(
    DebugRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const isRetained = (days: number) => sql`started_at > now() - make_interval(days => ${days}::int)`
      return {
        tokenOf: Effect.fn("DebugRepo.tokenOf")(function* (callId: string, days: number) {
          const rows = yield* sql`select debug_token from calls where public_id = ${callId} and ${isRetained(days)}`
          const [row] = yield* Schema.decodeUnknown(Tokens)(rows)
          return Option.fromNullable(row?.debug_token)
        }, Effect.orDie),
        callOf: Effect.fn("DebugRepo.callOf")(function* (token: string, days: number) {
          const rows =
            yield* sql`select id, public_id, project_id from calls where debug_token = ${token} and ${isRetained(days)}`
          const [row] = yield* Schema.decodeUnknown(Owners)(rows)
          return Option.fromNullable(row)
        }, Effect.orDie)
      }
    })
  )
}
