import type { SqlClient } from "@effect/sql"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Context, Effect, Layer, Redacted } from "effect"
import * as ServerProcess from "./ServerProcess.ts"

/** One server for a test file, on a database of its own that the tests can read through `SqlClient`. */
export class BlackBox extends Context.Tag("@svc/test/BlackBox")<
  BlackBox,
  ServerProcess.ServerProcess & { readonly database: Redacted.Redacted }
>() {
  static readonly layer: Layer.Layer<BlackBox | SqlClient.SqlClient> = Layer.unwrapScoped(
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const server = Effect.map(
        Effect.flatMap(ServerProcess.newKeys, (keys) => ServerProcess.start({ data: { url: database }, keys })),
        (process) => ({ ...process, database })
      )
      return Layer.merge(Layer.scoped(BlackBox, server), Layer.orDie(pool(Redacted.value(database), 3)))
    })
  )
}
