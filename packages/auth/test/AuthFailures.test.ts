import { SqlClient, SqlError } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { NodeLease } from "@svc/cluster/NodeLease"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Context, Effect, Layer, Logger, Ref, TestClock } from "effect"
import { AuthFailures } from "../src/AuthFailures.ts"
import { AuthFailuresRepo, type CountedFailures } from "../src/AuthFailuresRepo.ts"

type Repo = Context.Tag.Service<AuthFailuresRepo>

const minutes = (count: number) => count * 60_000

/** A node that sees `others` other nodes. */
const node = (repo: Repo, others: number, settings: ReadonlyArray<readonly [string, string]> = []) =>
  Layer.build(
    Layer.fresh(AuthFailures.layer).pipe(
      Layer.provide(Layer.succeed(AuthFailuresRepo, repo)),
      Layer.provide(Layer.mock(NodeLease, { others: Effect.succeed(others) })),
      Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(settings))))
    )
  ).pipe(Effect.map(Context.get(AuthFailures)))

const recording = Effect.map(Ref.make<ReadonlyArray<ReadonlyArray<CountedFailures>>>([]), (written) => ({
  written,
  repo: {
    write: (_, counts) => Ref.update(written, (all) => [...all, counts]),
    ofOthers: () => Effect.succeed([]),
    removeBefore: () => Effect.void
  } satisfies Repo
}))

const fail = (failures: Context.Tag.Service<AuthFailures>, times: number, at: number, address = "192.0.2.1") => {
  for (let i = 0; i < times; i++) failures.record(address, at)
}

const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

describe("Authentication failures of an address", () => {
  it.scoped("below the limit do not block it; at the limit it is blocked until 15 minutes after the first", () =>
    Effect.gen(function* () {
      const failures = yield* node((yield* recording).repo, 0)
      fail(failures, 1, minutes(1))
      fail(failures, 98, minutes(3))
      expect(failures.blockedFor("192.0.2.1", minutes(3))).toBeUndefined()
      fail(failures, 1, minutes(4))
      expect(failures.blockedFor("192.0.2.1", minutes(4))).toBe(12 * 60)
      expect(failures.blockedFor("192.0.2.1", minutes(16) - 1)).toBe(1)
      expect(failures.blockedFor("192.0.2.1", minutes(16))).toBeUndefined()
      fail(failures, 99, minutes(16))
      expect(failures.blockedFor("192.0.2.1", minutes(16))).toBeUndefined()
      expect(failures.blockedFor("192.0.2.2", minutes(4))).toBeUndefined()
    })
  )

  it.scoped("are not counted once it is blocked: the failure is answered with the seconds to wait", () =>
    Effect.gen(function* () {
      const failures = yield* node((yield* recording).repo, 0)
      const answers = Array.from({ length: 1000 }, () => failures.record("192.0.2.1", minutes(5)))
      expect(answers.filter((wait) => wait === undefined)).toHaveLength(100)
      expect(new Set(answers.slice(100))).toEqual(new Set([900]))
      expect(failures.record("192.0.2.2", minutes(5))).toBeUndefined()
    })
  )

  it.scoped(
    "are limited by SVC_LIMIT_AUTH_FAILURES; an invalid value fails the start with an error that names it",
    () =>
      Effect.gen(function* () {
        const { repo } = yield* recording
        const failures = yield* node(repo, 0, [["SVC_LIMIT_AUTH_FAILURES", "2"]])
        fail(failures, 2, 0)
        expect(failures.blockedFor("192.0.2.1", 0)).toBe(900)
        for (const wrong of ["0", "-1", "1.5", "many", "1e3"]) {
          const error = yield* Effect.flip(node(repo, 0, [["SVC_LIMIT_AUTH_FAILURES", wrong]]))
          expect(String(error)).toContain("SVC_LIMIT_AUTH_FAILURES")
        }
      })
  )

  it.scoped("are written in one statement a second, even ten thousand from one address or from many", () =>
    Effect.gen(function* () {
      const { repo, written } = yield* recording
      const failures = yield* node(repo, 0)
      fail(failures, 10_000, 0)
      yield* TestClock.adjust("1 second")
      expect(yield* Ref.get(written)).toEqual([[{ address: "192.0.2.1", failures: 100, until: minutes(15) }]])
      yield* TestClock.adjust("10 seconds")
      expect((yield* Ref.get(written)).length).toBe(1)
      for (let i = 0; i < 10_000; i++) failures.record(`10.0.${i >> 8}.${i & 255}`, 11_000)
      yield* TestClock.adjust("3 seconds")
      expect((yield* Ref.get(written)).slice(1).map((batch) => batch.length)).toEqual([1000, 1000, 1000])
    })
  )

  it.scoped(
    "use bounded memory: the address that failed longest ago is evicted first, and all when their windows end",
    () =>
      Effect.gen(function* () {
        const failures = yield* node((yield* recording).repo, 0)
        const start = 30_000 - minutes(15)
        fail(failures, 100, start, "old")
        for (let i = 0; i < 10_000; i++) failures.record(`a${i}`, start)
        fail(failures, 100, start, "new")
        for (let i = 0; i < 9_999; i++) failures.record(`b${i}`, start)
        expect(failures.size()).toBe(10_000)
        expect(failures.blockedFor("old", start)).toBeUndefined()
        // An address that is checked while it is blocked stays.
        expect(failures.blockedFor("new", start)).toBe(900)
        for (let i = 0; i < 9_999; i++) failures.record(`c${i}`, start)
        expect(failures.blockedFor("new", start)).toBe(900)
        yield* TestClock.adjust("61 seconds")
        expect(failures.size()).toBe(0)
      })
  )

  it.scoped("are counted while the database is unreachable, and written when it is back", () =>
    Effect.gen(function* () {
      const away = yield* Ref.make(true)
      const { repo, written } = yield* recording
      const failures = yield* node(
        {
          ...repo,
          write: (node, counts) =>
            Effect.flatMap(Ref.get(away), (isAway) =>
              isAway ? new SqlError.SqlError({ cause: new Error("ECONNREFUSED") }) : repo.write(node, counts)
            )
        },
        0
      )
      fail(failures, 60, 0)
      yield* TestClock.adjust("2 seconds")
      fail(failures, 40, 2000)
      expect(failures.blockedFor("192.0.2.1", 2000)).toBe(898)
      yield* Ref.set(away, false)
      yield* TestClock.adjust("1 second")
      expect(yield* Ref.get(written)).toEqual([[{ address: "192.0.2.1", failures: 100, until: minutes(15) }]])
    }).pipe(quiet)
  )
})

describe("Authentication failures on several nodes", () => {
  /** Repositories on the database that count their reads. */
  const shared = Effect.gen(function* () {
    const reads = yield* Ref.make(0)
    const real = yield* Effect.map(Layer.build(AuthFailuresRepo.layer), Context.get(AuthFailuresRepo))
    const repo: Repo = {
      ...real,
      ofOthers: (node, options) => Effect.tap(real.ofOthers(node, options), () => Ref.update(reads, (n) => n + 1))
    }
    /** One second, in which `nodes` nodes write and read. */
    const second = (nodes: number) =>
      Effect.gen(function* () {
        const before = yield* Ref.get(reads)
        yield* TestClock.adjust("1 second")
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve))).pipe(
          Effect.zipRight(Ref.get(reads)),
          Effect.repeat({ until: (n) => n >= before + nodes })
        )
      })
    return { repo, second }
  })

  it.scoped("add up exactly, and an address is blocked also on a node where it never failed", () =>
    Effect.gen(function* () {
      const { repo, second } = yield* shared
      const one = yield* node(repo, 2)
      const two = yield* node(repo, 2)
      const three = yield* node(repo, 2)
      fail(one, 60, 0)
      fail(two, 39, 0)
      yield* second(3)
      yield* second(3)
      for (const each of [one, two, three]) expect(each.blockedFor("192.0.2.1", 2000)).toBeUndefined()
      fail(two, 1, 2000)
      expect(two.blockedFor("192.0.2.1", 2000)).toBe(898)
      yield* second(3)
      yield* second(3)
      for (const each of [one, two, three]) expect(each.blockedFor("192.0.2.1", 4000)).toBe(896)
    }).pipe(Effect.provide(TestDatabase.layer))
  )

  it.scoped("survive a restart, and are removed from the database when their windows end", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { repo, second } = yield* shared
      const first = yield* node(repo, 1)
      fail(first, 100, 0)
      yield* second(1)
      const restarted = yield* node(repo, 0)
      expect(restarted.blockedFor("192.0.2.1", 1000)).toBe(899)
      const cleaned = yield* Effect.map(sql`select 1 from auth_failures`, (rows) => rows.length)
      expect(cleaned).toBe(1)
      yield* repo.removeBefore(minutes(15))
      expect(yield* sql`select 1 from auth_failures`).toHaveLength(1)
      yield* repo.removeBefore(minutes(15) + 1)
      expect(yield* sql`select 1 from auth_failures`).toEqual([])
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})
