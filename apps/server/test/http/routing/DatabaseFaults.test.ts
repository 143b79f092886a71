import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { connect } from "@svc/database/Database"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Cause, Effect, Exit } from "effect"
import { isOutage } from "../../../src/http/routing/DatabaseFaults.ts"

it.scopedLive(
  "a statement or transaction that waits too long for a connection is an outage, which is answered with 503",
  () =>
    Effect.gen(function* () {
      const url = yield* TestDatabase.freshUrl
      const pool = connect({ url, connections: 1, connectionTimeoutMs: 50, displayName: "a test database" })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.reserve
        const statement = yield* Effect.exit(Effect.orDie(sql`select 1`))
        const transaction = yield* Effect.exit(Effect.orDie(sql.withTransaction(sql`select 1`)))
        for (const exit of [statement, transaction]) {
          expect(Exit.isFailure(exit) && Cause.isDie(exit.cause) && isOutage(exit.cause)).toBe(true)
        }
      }).pipe(Effect.scoped, Effect.provide(pool))
    })
)
