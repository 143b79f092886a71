import { SqlClient } from "@effect/sql"
import type { PgClient } from "@effect/sql-pg"
import { Config, Context, Effect, Layer, Redacted, Schema, type Scope } from "effect"
import { Database } from "./Database.ts"
import { pool, TestRun, templateOf, variable, withDatabase } from "./TestServer.ts"

/** The current test run; its server was started by the global set-up of the test runner. */
const currentRun = Config.string(variable).pipe(
  Effect.flatMap(Schema.decode(Schema.parseJson(TestRun))),
  Effect.orDieWith(
    () => new Error("No test database: run under vitest with packages/database/testing/globalSetup.ts as global set-up")
  )
)

/** A new migrated database for a test, dropped at the end of the scope. Its errors are defects. */
export class TestDatabase extends Context.Tag("@svc/database/TestDatabase")<
  TestDatabase,
  { readonly url: Redacted.Redacted }
>() {
  /** The URL of a new database, for tests of a whole server: pass it as `SVC_DATABASE_URL`. */
  static readonly freshUrl: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = Effect.gen(function* () {
    const { run, url } = yield* currentRun
    const database = `svc_test_${run}_${crypto.randomUUID().slice(0, 8)}`
    const administer = (statement: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
      Effect.flatMap(SqlClient.SqlClient, statement).pipe(Effect.provide(pool(url, 1)), Effect.orDie)
    yield* Effect.acquireRelease(
      administer((sql) => sql`create database ${sql(database)} template ${sql(templateOf(run))} strategy file_copy`),
      () => administer((sql) => sql`drop database if exists ${sql(database)} with (force)`)
    )
    return Redacted.make(withDatabase(url, database))
  })

  /** A new database and a pool of 5 connections: one per test file, with `layer(TestDatabase.layer)("…", …)`. */
  static readonly layer: Layer.Layer<TestDatabase | Database | SqlClient.SqlClient | PgClient.PgClient> =
    Layer.unwrapScoped(
      Effect.map(TestDatabase.freshUrl, (url) =>
        Layer.mergeAll(
          Layer.succeed(TestDatabase, { url }),
          Layer.succeed(Database, { exclusive: false, displayName: "a test database" }),
          Layer.orDie(pool(Redacted.value(url), 5))
        )
      )
    )
}
