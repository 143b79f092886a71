import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect, Logger, LogLevel, Schedule } from "effect"
import * as EmbeddedPostgres from "../src/EmbeddedPostgres.ts"
import { pool } from "../src/TestServer.ts"
import { hold } from "./Holder.ts"

const isRoot = process.getuid?.() === 0

/** A new folder, removed with the scope, and the path of a data directory in it that does not exist yet. */
const place = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "svc-embedded-"))
    fs.chmodSync(folder, 0o755)
    return { folder, dir: path.join(folder, "postgres") }
  }),
  ({ folder }) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

const query = (url: string, statement: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(SqlClient.SqlClient, statement).pipe(Effect.provide(pool(url, 1)))

const serverPid = (dir: string) => Number(fs.readFileSync(path.join(dir, "postmaster.pid"), "utf8").split("\n")[0])
const socketDir = (url: string) => new URL(url).searchParams.get("host") ?? ""

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const until = (condition: () => boolean) =>
  Effect.repeat(Effect.sync(condition), { until: (is) => is, schedule: Schedule.spaced("20 millis") })

/** An ordinary user account of this system. */
const someUser = () => {
  const uids = fs.readFileSync("/etc/passwd", "utf8").matchAll(/^[a-z][^:]*:[^:]*:([0-9]+):/gm)
  const uid = [...uids].map((entry) => Number(entry[1])).find((one) => one > 0 && one < 65534)
  if (uid === undefined) throw new Error("no ordinary account in /etc/passwd")
  return uid
}

const makeTable = (sql: SqlClient.SqlClient) => sql`create table kept (n int)`
const count = (sql: SqlClient.SqlClient) => sql`select count(*) from kept`

layer(Logger.minimumLogLevel(LogLevel.None), { excludeTestServices: true })("EmbeddedPostgres", (it) => {
  it.scoped(
    "the data of the first start is there at the second, and a stopped server leaves only its data directory",
    () =>
      Effect.gen(function* () {
        const { dir, folder } = yield* place
        const first = yield* Effect.scoped(
          Effect.tap(EmbeddedPostgres.start({ dir }), ({ url }) => query(url, (sql) => makeTable(sql)))
        )
        expect(first.launched).toBe(true)
        expect(fs.existsSync(socketDir(first.url))).toBe(false)
        expect(fs.readdirSync(folder)).toEqual(["postgres"])
        expect(fs.statSync(dir).mode & 0o777).toBe(0o700)
        const second = yield* EmbeddedPostgres.start({ dir })
        expect(second.url).toBe(first.url)
        expect(fs.statSync(socketDir(second.url)).mode & 0o777).toBe(0o700)
        expect(yield* query(second.url, count)).toEqual([{ count: 0 }])
        const durability = (sql: SqlClient.SqlClient) =>
          sql`select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'listen_addresses') order by 1`
        expect(yield* query(second.url, durability)).toEqual([
          { name: "fsync", setting: "on" },
          { name: "listen_addresses", setting: "" },
          { name: "synchronous_commit", setting: "on" }
        ])
      })
  )

  it.scoped("a server that is stopped while it starts ends, at whatever moment that is", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const start = Effect.scoped(EmbeddedPostgres.start({ dir, durable: false }))
      const { url } = yield* start
      for (let moment = 5; moment < 75; moment += 2) {
        yield* Effect.timeoutOption(start, moment)
        expect(fs.existsSync(path.join(dir, "postmaster.pid"))).toBe(false)
        expect(fs.existsSync(socketDir(url))).toBe(false)
      }
    })
  )

  it.scoped("the server ends when its process is killed, and the next start has all acknowledged commits", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const holder = yield* hold(dir)
      if ("error" in holder.result) return yield* Effect.dieMessage(holder.result.error)
      yield* query(holder.result.url, makeTable)
      yield* query(holder.result.url, (sql) => sql`insert into kept select generate_series(1, 1000)`)
      const pid = serverPid(dir)
      yield* holder.kill
      yield* until(() => !isAlive(pid))
      const next = yield* EmbeddedPostgres.start({ dir })
      expect(next.launched).toBe(true)
      expect(yield* query(next.url, count)).toEqual([{ count: 1000 }])
    })
  )

  it.scoped("a server that is killed restarts at the same address with all acknowledged commits", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const { url } = yield* EmbeddedPostgres.start({ dir })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeTable(sql)
        yield* Effect.forEach(Array.from({ length: 20 }), () => sql`insert into kept values (1)`)
        const pid = serverPid(dir)
        process.kill(pid, "SIGKILL")
        yield* until(() => !isAlive(pid))
        const counted = Effect.retry(count(sql), Schedule.spaced("50 millis"))
        expect(yield* counted).toEqual([{ count: 20 }])
        expect(serverPid(dir)).not.toBe(pid)
      }).pipe(Effect.provide(pool(url, 3)))
    })
  )

  it.scoped("a second process uses the running server, and restarts it when the first process is killed", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const holder = yield* hold(dir)
      if ("error" in holder.result) return yield* Effect.dieMessage(holder.result.error)
      const mine = yield* EmbeddedPostgres.start({ dir })
      expect(mine).toEqual({ url: holder.result.url, launched: false })
      yield* query(mine.url, makeTable)
      const pid = serverPid(dir)
      yield* holder.kill
      yield* until(() => !isAlive(pid))
      expect(yield* Effect.retry(query(mine.url, count), Schedule.spaced("50 millis"))).toEqual([{ count: 0 }])
    })
  )

  it.scoped("the server keeps running when a process ends that only used it", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const { url } = yield* EmbeddedPostgres.start({ dir })
      const pid = serverPid(dir)
      const other = yield* Effect.scoped(hold(dir))
      expect(other.result).toEqual({ url, launched: false })
      expect(serverPid(dir)).toBe(pid)
      yield* query(url, (sql) => sql`select 1`)
    })
  )

  it.scoped("of processes that start at once on a new directory one launches the server and all use it", () =>
    Effect.gen(function* () {
      const { dir, folder } = yield* place
      const holders = yield* Effect.all([hold(dir), hold(dir)], { concurrency: "unbounded" })
      const results = holders.map((holder) => holder.result)
      expect(results.filter((one) => "launched" in one && one.launched)).toHaveLength(1)
      expect(new Set(results.map((one) => ("url" in one ? one.url : one.error))).size).toBe(1)
      expect(fs.readdirSync(folder)).toEqual(["postgres"])
    })
  )

  it.scoped("a stale lock file or draft of a crash does not prevent a start", () =>
    Effect.gen(function* () {
      const { dir, folder } = yield* place
      yield* Effect.scoped(EmbeddedPostgres.start({ dir }))
      // The process id of a killed server was reused, here by this process.
      fs.writeFileSync(path.join(dir, "postmaster.pid"), `${process.pid}\n${dir}\n1\n5432\n/tmp/none\n\n1 1\nready\n`)
      yield* Effect.scoped(EmbeddedPostgres.start({ dir }))
      // The draft of a first start that was killed.
      fs.rmSync(dir, { recursive: true })
      const draft = path.join(folder, "postgres.new-2147483647")
      fs.mkdirSync(draft)
      fs.writeFileSync(path.join(draft, "PG_VERSION"), "18\n")
      const { url } = yield* EmbeddedPostgres.start({ dir })
      yield* query(url, (sql) => sql`select 1`)
      expect(fs.readdirSync(folder)).toEqual(["postgres"])
    })
  )

  it.scoped("a directory with other files, or of another PostgreSQL version, is refused and left unchanged", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      fs.mkdirSync(dir)
      fs.writeFileSync(path.join(dir, "notes.txt"), "text")
      expect((yield* Effect.flip(EmbeddedPostgres.start({ dir }))).message).toContain("holds no database")
      expect(fs.readdirSync(dir)).toEqual(["notes.txt"])
      fs.writeFileSync(path.join(dir, "PG_VERSION"), "16\n")
      expect((yield* Effect.flip(EmbeddedPostgres.start({ dir }))).message).toContain("holds data of PostgreSQL 16")
      const blocked = path.join(dir, "notes.txt", "postgres")
      expect((yield* Effect.flip(EmbeddedPostgres.start({ dir: blocked }))).message).toContain(blocked)
    })
  )

  it.scoped("a directory that cannot be made is refused at once, with the reason", () =>
    Effect.gen(function* () {
      const { folder } = yield* place
      fs.writeFileSync(path.join(folder, "file"), "")
      fs.symlinkSync(path.join(folder, "none", "below"), path.join(folder, "link"))
      const cases = [
        [path.join(folder, "file", "postgres"), "a file is in the way"],
        [path.join(folder, "link", "postgres"), "a file is in the way"],
        // Where the recursive mkdir of Node.js does not end.
        ...(process.platform === "linux"
          ? [["/proc/svc/data/postgres", "its folder cannot be made there"] as const]
          : [])
      ] as const
      for (const [dir, reason] of cases) {
        expect((yield* Effect.flip(EmbeddedPostgres.start({ dir }))).message).toBe(
          `Cannot use the data directory ${dir}: ${reason}; set SVC_DATA_DIR to another folder`
        )
      }
      fs.chmodSync(folder, 0o555)
      const dir = path.join(folder, "data", "postgres")
      const { result } = yield* hold(dir, ...(isRoot ? [String(someUser())] : []))
      expect(result).toEqual({
        error: expect.stringMatching(
          /^Cannot use the data directory .*: this user \(uid \d+\) may not read or write there; /
        )
      })
      expect(fs.readdirSync(folder).sort()).toEqual(["file", "link"])
    })
  )

  it.scoped("a running server that cannot be reached is refused, and named with the process that started it", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const holder = yield* hold(dir)
      if ("error" in holder.result) return yield* Effect.dieMessage(holder.result.error)
      // As for a process that has another /tmp.
      const socket = path.join(socketDir(holder.result.url), ".s.PGSQL.5432")
      fs.rmSync(socket)
      const { message } = yield* Effect.flip(EmbeddedPostgres.start({ dir }))
      expect(message).toContain(`Another PostgreSQL server uses ${dir} (process ${serverPid(dir)}`)
      if (process.platform === "linux")
        expect(message).toMatch(/, started by process \d+: .*holder\.ts .*\) and its socket in/)
      expect(message).toContain("cannot be reached from here")
    })
  )

  it.scoped("it works inside a home folder that other users cannot read", () =>
    Effect.gen(function* () {
      const { folder } = yield* place
      const home = path.join(folder, "home")
      fs.mkdirSync(home, { mode: 0o700 })
      const dir = path.join(home, "project", ".svc", "postgres")
      yield* Effect.scoped(Effect.tap(EmbeddedPostgres.start({ dir }), ({ url }) => query(url, makeTable)))
      const { url } = yield* EmbeddedPostgres.start({ dir })
      const pid = serverPid(dir)
      process.kill(pid, "SIGKILL")
      yield* until(() => !isAlive(pid))
      expect(yield* Effect.retry(query(url, count), Schedule.spaced("50 millis"))).toEqual([{ count: 0 }])
      expect(fs.statSync(home).mode & 0o777).toBe(0o700)
    })
  )

  it.scoped("it runs as the ordinary user who starts it, and a start by root keeps the owner of the data", () =>
    Effect.gen(function* () {
      const { dir, folder } = yield* place
      const uid = isRoot ? someUser() : (process.getuid?.() ?? 0)
      fs.chownSync(folder, uid, -1)
      yield* Effect.scoped(
        Effect.tap(hold(dir, ...(isRoot ? [String(uid)] : [])), ({ result }) =>
          Effect.sync(() => expect(result).toMatchObject({ launched: true }))
        )
      )
      expect(fs.statSync(dir).uid).toBe(uid)
      const { url } = yield* EmbeddedPostgres.start({ dir })
      yield* query(url, makeTable)
      expect(fs.statSync(path.join(dir, "postmaster.pid")).uid).toBe(uid)
    })
  )

  it.scoped("removeAtEnd removes the data directory and the socket", () =>
    Effect.gen(function* () {
      const { dir } = yield* place
      const { url } = yield* Effect.scoped(EmbeddedPostgres.start({ dir, durable: false, removeAtEnd: true }))
      expect(fs.existsSync(dir)).toBe(false)
      expect(fs.existsSync(socketDir(url))).toBe(false)
    })
  )
})
