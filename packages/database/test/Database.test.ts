import * as net from "node:net"
import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Fiber, Layer, Redacted, TestClock } from "effect"
import { Database } from "../src/Database.ts"
import { TestDatabase } from "../src/TestDatabase.ts"
import { pool } from "../src/TestServer.ts"

const configured = (settings: Record<string, string>) =>
  Database.layer.pipe(Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings))))))

const failureOf = (settings: Record<string, string>) => Effect.flip(Effect.scoped(Layer.build(configured(settings))))

layer(TestDatabase.layer)("columnTypes", (it) => {
  it.effect(
    "ids and counts are numbers, numeric is text, timestamptz is a Date, date is text, and jsonb keeps its keys",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql`select
        9007199254740991::bigint as id, array[1, null, 3]::bigint[] as ids, (select count(*) from nodes) as count,
        0.1000::numeric as money, 9007199254740993::bigint as huge,
        timestamptz '2026-01-02 03:04:05.678+02' as at, date '2026-03-01' as day, array[date '2026-03-01'] as days,
        '{"snake_case": {"camelCase": [1, null]}}'::jsonb as json, null::bigint as nothing`
        expect(row).toEqual({
          id: Number.MAX_SAFE_INTEGER,
          ids: [1, null, 3],
          count: 0,
          money: "0.1000",
          huge: "9007199254740993",
          at: new Date("2026-01-02T01:04:05.678Z"),
          day: "2026-03-01",
          days: ["2026-03-01"],
          json: { snake_case: { camelCase: [1, null] } },
          nothing: null
        })
      })
  )

  it.effect("lower and ilike fold letters beyond ASCII", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      expect(yield* sql`select lower('ÄRZTE') as low, 'Łódź' ilike 'łÓDŹ' as found`).toEqual([
        { low: "ärzte", found: true }
      ])
    })
  )
})

describe("Database", () => {
  it.scopedLive("two servers that start at once on one database both succeed", () =>
    Effect.gen(function* () {
      const url = yield* TestDatabase.freshUrl
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`drop schema public cascade; create schema public`).pipe(
        Effect.provide(pool(Redacted.value(url), 1))
      )
      const server = Layer.build(Layer.fresh(configured({ SVC_DATABASE_URL: Redacted.value(url) })))
      const servers = yield* Effect.all([server, server], { concurrency: "unbounded" })
      for (const context of servers) {
        const counted = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select count(*) from events`)
        expect(yield* Effect.provide(counted, context)).toEqual([{ count: 0 }])
        expect((yield* Effect.provide(Database, context)).exclusive).toBe(false)
      }
    })
  )

  it.scopedLive("the pool reconnects after the server terminated all connections", () =>
    Effect.gen(function* () {
      const url = Redacted.value(yield* TestDatabase.freshUrl)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Effect.all(
          Array.from({ length: 3 }, () => sql`select pg_backend_pid()`),
          { concurrency: 3 }
        )
        const busy = yield* Effect.fork(sql`select pg_sleep(60)`)
        const others = sql<{ readonly pid: number }>`
          select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
        yield* Effect.repeat(others, { until: (rows) => rows.length >= 2 })
        yield* sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`
        expect(Exit.isFailure(yield* busy.await)).toBe(true)
        const again = Effect.retry(sql`select 1 as one`, { times: 3 })
        const after = yield* Effect.all(Effect.replicate(again, 5), { concurrency: 5 })
        expect(after).toEqual(Array.from({ length: 5 }, () => [{ one: 1 }]))
      }).pipe(Effect.provide(pool(url, 3)))
    })
  )

  it.scopedLive("an invalid SVC_DATABASE_URL fails at once, with one line that names it without its password", () =>
    Effect.gen(function* () {
      const url = new URL(Redacted.value(yield* TestDatabase.freshUrl))
      url.pathname = "/svc_no_such_database"
      url.password = "hunter2"
      const missing = yield* failureOf({ SVC_DATABASE_URL: url.href })
      expect(String(missing)).toContain('database "svc_no_such_database" does not exist')
      expect(String(missing)).toContain(". Create the database, or correct SVC_DATABASE_URL")
      expect(String(missing)).not.toContain("hunter2")
      const wrong = yield* failureOf({ SVC_DATABASE_URL: "mysql://root:hunter2@localhost/svc" })
      expect(wrong).toMatchObject({ message: expect.stringContaining("SVC_DATABASE_URL is not of the form") })
      expect(JSON.stringify(wrong)).not.toContain("hunter2")
      expect(String(yield* failureOf({ SVC_DATABASE_POOL: "none" }))).toContain("SVC_DATABASE_POOL")
      expect(String(yield* failureOf({ SVC_DATABASE_POOL: "0" }))).toContain("must be from 1 to 1000")
    })
  )

  /** Listens on a free port and returns it. */
  const listen = (onConnection: (socket: net.Socket) => void) =>
    Effect.acquireRelease(
      Effect.async<net.Server>((resume) => {
        const server = net.createServer((socket) => {
          socket.on("error", () => {})
          onConnection(socket)
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    ).pipe(
      Effect.map((server) => {
        const address = server.address()
        return typeof address === "object" && address !== null ? address.port : 0
      })
    )

  it.scopedLive("Database.layer waits for a server that is not up yet", () =>
    Effect.gen(function* () {
      const target = new URL(Redacted.value(yield* TestDatabase.freshUrl))
      let refused = 0
      const port = yield* listen((socket) => {
        if (refused++ < 2) {
          socket.destroy()
          return
        }
        const port = Number(target.port || 5432)
        const folder = target.searchParams.get("host")
        const upstream = net.connect(
          folder === null ? { host: target.hostname, port } : { path: `${folder}/.s.PGSQL.${port}` }
        )
        upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy())
        socket.on("close", () => upstream.destroy())
        socket.pipe(upstream)
        upstream.pipe(socket)
      })
      const through = new URL(target)
      through.searchParams.delete("host")
      through.host = `127.0.0.1:${port}`
      yield* Layer.build(configured({ SVC_DATABASE_URL: through.href }))
      expect(refused).toBeGreaterThan(2)
    })
  )

  it.scoped("a user whom the server refuses fails the start, and the message says what to correct", () =>
    Effect.gen(function* () {
      const port = yield* listen((socket) => {
        // An ErrorResponse: severity, code and message, each ended by a zero byte. See "Message Formats" in PostgreSQL's manual.
        const fields = 'SFATAL\0C28P01\0Mpassword authentication failed for user "svc"\0\0'
        const head = Buffer.from("E\0\0\0\0")
        head.writeUInt32BE(4 + fields.length, 1)
        socket.once("data", () => socket.end(Buffer.concat([head, Buffer.from(fields)])))
      })
      const error = yield* failureOf({ SVC_DATABASE_URL: `postgres://svc:hunter2@127.0.0.1:${port}/svc` })
      expect(error).toMatchObject({
        message: `Cannot use the database 127.0.0.1:${port}/svc: password authentication failed for user "svc". Correct the user and the password in SVC_DATABASE_URL`
      })
    })
  )

  it.scoped("a server that never answers fails the start with one line", () =>
    Effect.gen(function* () {
      const port = yield* listen(() => {})
      const start = yield* Effect.fork(failureOf({ SVC_DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/svc` }))
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const pass = Effect.zipRight(TestClock.adjust("1 second"), turn)
      const error = yield* Effect.raceFirst(Fiber.join(start), Effect.forever(pass))
      expect(error).toMatchObject({ _tag: "DatabaseUnavailable" })
      expect(String(error)).toMatch(/Cannot use the database 127\.0\.0\.1:\d+\/svc: .*time/i)
      expect(String(error)).toContain(
        ". Check that PostgreSQL runs there and can be reached, or correct SVC_DATABASE_URL"
      )
    })
  )
})
