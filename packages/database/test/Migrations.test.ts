import { readdirSync } from "node:fs"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Migrations from "../src/Migrations.ts"
import { TestDatabase } from "../src/TestDatabase.ts"
import { pool } from "../src/TestServer.ts"

const names = Object.keys(Migrations.migrations)

describe("Migrations", () => {
  it("every file of the folder is in the list under its name, and the other way round", () => {
    const files = readdirSync(new URL("../src/migrations", import.meta.url)).map((file) => file.replace(/\.ts$/, ""))
    expect(names).toEqual(files.sort())
  })

  it("numbers are unique and ascend from 1", () => {
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1))
    expect(names.filter((name) => !/^[0-9]{4}_[a-z_]+$/.test(name))).toEqual([])
  })

  /** A database with nothing in it, and independent pools on it, as several servers have. */
  const emptyDatabase = Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabase.freshUrl)
    yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`drop schema public cascade; create schema public`).pipe(
      Effect.provide(pool(url, 1))
    )
    return pool(url, 2)
  })

  it.scoped("servers that start at once on an empty database all come up, and each migration runs once", () =>
    Effect.gen(function* () {
      const server = yield* emptyDatabase
      const start = Effect.provide(Migrations.run, server)
      const ran = yield* Effect.all([start, start, start, start], { concurrency: "unbounded" })
      expect(ran.flat().sort()).toEqual(names)
      expect(ran.filter((list) => list.length > 0)).toHaveLength(1)
    })
  )

  it.scoped("a migration that came into the list late still runs", () =>
    Effect.gen(function* () {
      const server = yield* emptyDatabase
      yield* Effect.provide(Migrations.run, server)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`drop table events`
        yield* sql`delete from migrations where name = '0001_outbox'`
      }).pipe(Effect.provide(server))
      expect(yield* Effect.provide(Migrations.run, server)).toEqual(["0001_outbox"])
    })
  )

  it.scoped("one that fails is named, and leaves the schema as it was", () =>
    Effect.gen(function* () {
      const server = yield* emptyDatabase
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`create table nodes (other int)`).pipe(
        Effect.provide(server)
      )
      const error = yield* Effect.flip(Effect.provide(Migrations.run, server))
      expect(error).toMatchObject({ _tag: "MigrationFailed", name: "0002_nodes" })
      const left = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`select table_name from information_schema.tables where table_schema = 'public'`
      ).pipe(Effect.provide(server))
      expect(left).toEqual([{ table_name: "nodes" }])
    })
  )
})
