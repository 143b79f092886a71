import { SqlClient } from "@effect/sql"
import { Call } from "@svc/api/calls/Call"
import { Context, Effect, Layer, Option, Schema } from "effect"

/** Days for which a debug page can be read: as long as recordings are kept (decisions §4.9). */
const kept = 90

const Tokens = Schema.Array(Schema.Struct({ debug_token: Schema.NullOr(Schema.String) }))
const Owners = Schema.Array(Schema.Struct({ id: Schema.Int, public_id: Call.fields.call_id, project_id: Schema.Int }))

/** The tokens of calls, and the calls of tokens. */
export class DebugRepo extends Context.Tag("@svc/call-engine/DebugRepo")<
  DebugRepo,
  {
    /** None for a call that has no token, or none any more. */
    readonly tokenOf: (callId: string) => Effect.Effect<Option.Option<string>>
    readonly callOf: (
      token: string
    ) => Effect.Effect<Option.Option<{ readonly id: number; readonly public_id: string; readonly project_id: number }>>
  }
>() {
  static readonly layer: Layer.Layer<DebugRepo, never, SqlClient.SqlClient> = Layer.effect(
    DebugRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const young = sql`started_at > now() - make_interval(days => ${kept})`
      return {
        tokenOf: Effect.fn("DebugRepo.tokenOf")(function* (callId) {
          const rows = yield* sql`select debug_token from calls where public_id = ${callId} and ${young}`
          const [row] = yield* Schema.decodeUnknown(Tokens)(rows)
          return Option.fromNullable(row?.debug_token)
        }, Effect.orDie),
        callOf: Effect.fn("DebugRepo.callOf")(function* (token) {
          const rows = yield* sql`select id, public_id, project_id from calls where debug_token = ${token} and ${young}`
          const [row] = yield* Schema.decodeUnknown(Owners)(rows)
          return Option.fromNullable(row)
        }, Effect.orDie)
      }
    })
  )
}
