import { SqlClient } from "@effect/sql"
import { expect, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { connect } from "../src/Database.ts"
import { plannedEachTime, StatementNames } from "../src/Prepared.ts"
import { TestDatabase } from "../src/TestDatabase.ts"

it("a statement gets a name at its fifth execution, and keeps it until it is renewed", () => {
  const names = new StatementNames()
  const given = Array.from({ length: 6 }, () => names.of("select $1"))
  expect(given.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined])
  expect(given[4]).toMatch(/^svc_\d+$/)
  expect(given[5]).toBe(given[4])
  const renewed = names.renew("select $1")
  expect(renewed).not.toBe(given[4])
  expect(names.of("select $1")).toBe(renewed)
})

it("at most 200 statements get names, and those executed once get none", () => {
  const names = new StatementNames()
  const seen = new Set<string>()
  for (let text = 0; text < 5_000; text++) expect(names.of(`once ${text}`)).toBeUndefined()
  for (let text = 0; text < 500; text++) {
    for (let time = 0; time < 5; time++) {
      const name = names.of(`often ${text}`)
      if (name !== undefined) seen.add(name)
    }
  }
  expect(seen.size).toBe(200)
})

it("a statement with plannedEachTime gets no name", () => {
  const names = new StatementNames()
  const given = Array.from({ length: 20 }, () => names.of(`${plannedEachTime} select $1`))
  expect(given.filter((name) => name !== undefined)).toEqual([])
})

const Total = Schema.Struct({ n: Schema.Int })

layer(TestDatabase.layer)("frequent statements", (it) => {
  /** A table with one row, and a statement on it that has run often enough to be prepared. */
  const prepared = (table: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create table ${sql(table)} (a integer)`
      yield* sql`insert into ${sql(table)} values (1)`
      const ask = sql`select * from ${sql(table)} where a >= ${1}`
      const known = Effect.map(
        sql`select count(*)::int as n from pg_prepared_statements where statement like ${`%"${table}"%`}`,
        (rows) => Schema.decodeUnknownSync(Schema.Tuple(Total))(rows)[0].n
      )
      for (let time = 0; time < 6; time++) expect(yield* ask).toEqual([{ a: 1 }])
      return { sql, ask, known }
    })

  it.effect("are prepared on the connection, and no others", () =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.withTransaction(
        Effect.gen(function* () {
          const { known } = yield* prepared("asked_often")
          expect(yield* known).toBe(1)
        })
      )
    )
  )

  it.effect("still work after the table gets another column", () =>
    Effect.gen(function* () {
      const { ask, sql } = yield* prepared("grows")
      yield* sql`alter table grows add column b text default 'new'`
      for (let time = 0; time < 12; time++) expect(yield* ask).toEqual([{ a: 1, b: "new" }])
    })
  )

  it.effect("fail with PostgreSQL's error in a transaction that changes their table, and work again after it", () =>
    Effect.gen(function* () {
      const { ask, sql } = yield* prepared("changes")
      const error = yield* Effect.flip(
        sql.withTransaction(
          Effect.gen(function* () {
            for (let time = 0; time < 6; time++) yield* ask
            yield* sql`alter table changes add column b text default 'new'`
            yield* ask
          })
        )
      )
      expect(String(error.cause)).toContain("cached plan must not change result type")
      expect(yield* ask).toEqual([{ a: 1 }])
    })
  )

  it.scoped("are not prepared with prepareStatements: false", () =>
    Effect.gen(function* () {
      const url = yield* TestDatabase.freshUrl
      const asked = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.withTransaction(
          Effect.zipRight(
            Effect.replicateEffect(sql`select ${1}::int as n`, 10),
            sql`select count(*)::int as n from pg_prepared_statements`
          )
        )
      )
      expect(
        yield* Effect.provide(asked, connect({ url, connections: 1, prepareStatements: false, displayName: "it" }))
      ).toEqual([{ n: 0 }])
      expect(yield* Effect.provide(asked, connect({ url, connections: 1, displayName: "it" }))).toEqual([{ n: 1 }])
    })
  )

  it.effect("still work after the server deallocated them", () =>
    Effect.gen(function* () {
      const { ask, sql } = yield* prepared("forgotten")
      for (let time = 0; time < 12; time++) {
        yield* sql`deallocate all`
        expect(yield* ask).toEqual([{ a: 1 }])
      }
    })
  )
})
