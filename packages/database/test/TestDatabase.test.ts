import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestDatabase } from "../src/TestDatabase.ts"
import * as TestServer from "../src/TestServer.ts"

const databases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly datname: string }>`select datname from pg_database where datname ~ '^svc_test_'`
  return rows.map((row) => row.datname)
})

const nameOf = (url: Redacted.Redacted) => new URL(Redacted.value(url)).pathname.slice(1)

/** Another run of the suite on the same server. */
const anotherRun = Effect.gen(function* () {
  const { url } = yield* TestDatabase
  const config = ConfigProvider.fromMap(new Map([["SVC_TEST_DATABASE_URL", Redacted.value(url)]]))
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const run = yield* TestServer.start.pipe(Scope.extend(scope), Effect.withConfigProvider(config))
  return { run, end: Scope.close(scope, Exit.void) }
})

layer(TestDatabase.layer)("TestDatabase", (it) => {
  it.scoped("each database is migrated, empty, separate from others, and dropped at the end", () =>
    Effect.gen(function* () {
      const name = yield* Effect.scoped(
        Effect.gen(function* () {
          const url = yield* TestDatabase.freshUrl
          const insert = Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`insert into nodes (id, expires_at) values ('node_other', now())`
          )
          yield* Effect.provide(insert, TestServer.pool(Redacted.value(url), 1))
          expect(yield* databases).toContain(nameOf(url))
          return nameOf(url)
        })
      )
      const sql = yield* SqlClient.SqlClient
      expect(yield* sql`select id from nodes`).toEqual([])
      expect(yield* databases).not.toContain(name)
    })
  )

  it.scoped("a database that is still in use is dropped at the end", () =>
    Effect.gen(function* () {
      const outer = yield* Effect.scope
      const name = yield* Effect.scoped(
        Effect.gen(function* () {
          const url = yield* TestDatabase.freshUrl
          const pool = yield* Scope.extend(Layer.build(TestServer.pool(Redacted.value(url), 1)), outer)
          yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select 1`).pipe(Effect.provide(pool))
          return nameOf(url)
        })
      )
      expect(yield* databases).not.toContain(name)
    })
  )

  it.scoped("concurrent runs on one server drop only their own databases", () =>
    Effect.gen(function* () {
      const own = nameOf((yield* TestDatabase).url)
      const first = yield* anotherRun
      const second = yield* anotherRun
      const [one, two] = [TestServer.templateOf(first.run.run), TestServer.templateOf(second.run.run)]
      expect(yield* databases).toEqual(expect.arrayContaining([own, one, two]))
      yield* first.end
      const after = yield* databases
      expect(after).toEqual(expect.arrayContaining([own, two]))
      expect(after).not.toContain(one)
      yield* second.end
      expect(yield* databases).not.toContain(two)
      expect(yield* databases).toContain(own)
    })
  )

  it.scoped("the databases of a killed run are dropped by the next run", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const left = `svc_test_4294967290_${crypto.randomUUID().slice(0, 8)}`
      yield* sql`create database ${sql(left)}`
      yield* anotherRun
      expect(yield* databases).not.toContain(left)
    })
  )
})
