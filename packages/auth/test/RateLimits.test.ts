import { SqlClient, SqlError } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { NodeLease } from "@svc/cluster/NodeLease"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Effect, Layer, Logger, Ref, TestClock } from "effect"
import { RateLimits } from "../src/RateLimits.ts"
import { type BucketCount, RateLimitsRepo } from "../src/RateLimitsRepo.ts"

type Repo = Context.Tag.Service<RateLimitsRepo>

/** A node that sees `others` other nodes. */
const node = (repo: Repo, others: number) =>
  Layer.build(
    Layer.fresh(RateLimits.layer).pipe(
      Layer.provide(Layer.succeed(RateLimitsRepo, repo)),
      Layer.provide(Layer.mock(NodeLease, { others: Effect.succeed(others) }))
    )
  ).pipe(Effect.map(Context.get(RateLimits)))

/** A repository that counts its statements; `answer` are the counts of other nodes. */
const recording = (answer: ReadonlyArray<BucketCount> = []) =>
  Effect.map(Ref.make<ReadonlyArray<ReadonlyArray<BucketCount>>>([]), (written) => ({
    written,
    repo: {
      exchange: ({ counts }) =>
        Effect.as(
          Ref.update(written, (all) => [...all, counts]),
          answer
        ),
      removeBefore: () => Effect.void
    } satisfies Repo
  }))

const admitted = (limits: Context.Tag.Service<RateLimits>, times: number, at: number, limit = 300) =>
  Array.from({ length: times }, () => limits.consume("voice:1", limit, at)).filter(({ admitted }) => admitted).length

const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

describe("A rate limit on one node", () => {
  it.scoped("admits exactly the limit in each minute of the clock, to the millisecond", () =>
    Effect.gen(function* () {
      const limits = yield* node((yield* recording()).repo, 0)
      expect(admitted(limits, 299, 119_000)).toBe(299)
      expect(limits.consume("voice:1", 300, 119_999)).toEqual({
        admitted: true,
        limit: 300,
        remaining: 0,
        resetAt: 120,
        resetIn: 1
      })
      expect(limits.consume("voice:1", 300, 119_999).admitted).toBe(false)
      expect(limits.consume("voice:1", 300, 120_000)).toEqual({
        admitted: true,
        limit: 300,
        remaining: 299,
        resetAt: 180,
        resetIn: 60
      })
      expect(admitted(limits, 400, 179_999)).toBe(299)
    })
  )

  it.scoped("does not count refused requests, so a higher limit admits the rest", () =>
    Effect.gen(function* () {
      const limits = yield* node((yield* recording()).repo, 0)
      expect(admitted(limits, 50, 1000, 10)).toBe(10)
      expect(limits.peek("voice:1", 10, 1000)).toMatchObject({ admitted: false, remaining: 0 })
      expect(admitted(limits, 50, 1000, 30)).toBe(20)
      expect(limits.peek("voice:1", 10, 1000).remaining).toBe(0)
    })
  )

  it.scoped("applies to one bucket alone, and peek does not count", () =>
    Effect.gen(function* () {
      const limits = yield* node((yield* recording()).repo, 0)
      expect(admitted(limits, 3, 0, 2)).toBe(2)
      for (let i = 0; i < 5; i++) expect(limits.peek("voice:2", 2, 0)).toMatchObject({ admitted: true, remaining: 2 })
      expect(limits.consume("voice:2", 2, 0).remaining).toBe(1)
    })
  )

  it.scoped("that is null counts nothing and returns only the end of the window", () =>
    Effect.gen(function* () {
      const limits = yield* node((yield* recording()).repo, 0)
      expect(limits.consume("voice:1", null, 61_000)).toEqual({
        admitted: true,
        limit: null,
        remaining: null,
        resetAt: 120,
        resetIn: 59
      })
      expect(limits.size()).toBe(0)
    })
  )

  it.scoped("needs no database, and drops the counters of past minutes", () =>
    Effect.gen(function* () {
      const { repo, written } = yield* recording()
      const limits = yield* node(repo, 0)
      for (let i = 0; i < 5000; i++) limits.consume(`voice:${i}`, 10, 0)
      yield* TestClock.adjust("59 seconds")
      expect(limits.size()).toBe(5000)
      yield* TestClock.adjust("1 second")
      expect(limits.size()).toBe(0)
      expect(yield* Ref.get(written)).toEqual([])
    })
  )
})

describe("A rate limit on several nodes", () => {
  it.scoped("shares once a second in one statement the counts that changed, as totals", () =>
    Effect.gen(function* () {
      const { repo, written } = yield* recording([["voice:1", 4]])
      const limits = yield* node(repo, 1)
      yield* TestClock.adjust("5 seconds")
      expect(yield* Ref.get(written)).toEqual([])
      admitted(limits, 2, 5000, 10)
      limits.consume("voice:2", 10, 5000)
      yield* TestClock.adjust("1 second")
      expect(limits.peek("voice:1", 10, 6000).remaining).toBe(4)
      admitted(limits, 1, 6000, 10)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Ref.get(written)).toEqual([
        [
          ["voice:1", 2],
          ["voice:2", 1]
        ],
        [["voice:1", 3]],
        []
      ])
    })
  )

  it.scoped("is counted per node while the database is unreachable, and together again afterwards", () =>
    Effect.gen(function* () {
      const away = yield* Ref.make(true)
      const { repo, written } = yield* recording([["voice:1", 6]])
      const limits = yield* node(
        {
          ...repo,
          exchange: (options) =>
            Effect.flatMap(Ref.get(away), (isAway) =>
              isAway ? new SqlError.SqlError({ cause: new Error("ECONNREFUSED") }) : repo.exchange(options)
            )
        },
        1
      )
      expect(admitted(limits, 3, 0, 10)).toBe(3)
      yield* TestClock.adjust("3 seconds")
      expect(admitted(limits, 1, 3000, 10)).toBe(1)
      yield* Ref.set(away, false)
      yield* TestClock.adjust("1 second")
      expect(yield* Ref.get(written)).toEqual([[["voice:1", 4]]])
      expect(admitted(limits, 5, 4000, 10)).toBe(0)
    }).pipe(quiet)
  )

  it.scoped("is shared again after a statement that hangs", () =>
    Effect.gen(function* () {
      const { repo } = yield* recording()
      const begun = yield* Ref.make(0)
      const limits = yield* node(
        {
          ...repo,
          exchange: () =>
            Effect.zipRight(
              Ref.update(begun, (n) => n + 1),
              Effect.never
            )
        },
        1
      )
      expect(admitted(limits, 20, 0, 10)).toBe(10)
      yield* TestClock.adjust("7 seconds")
      expect(yield* Ref.get(begun)).toBe(3)
    }).pipe(quiet)
  )

  it.scoped("is one limit: requests admitted by one node count on the other until the minute ends", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rounds = yield* Ref.make(0)
      const real = yield* Effect.map(Layer.build(RateLimitsRepo.layer), Context.get(RateLimitsRepo))
      const repo: Repo = {
        ...real,
        exchange: (options) => Effect.tap(real.exchange(options), () => Ref.update(rounds, (n) => n + 1))
      }
      const one = yield* node(repo, 1)
      const two = yield* node(repo, 1)
      /** One second, after which the nodes have exchanged their counts this many times together. */
      const second = (until: number) =>
        TestClock.adjust("1 second").pipe(
          Effect.zipRight(
            Effect.promise(() => new Promise((resolve) => setImmediate(resolve))).pipe(
              Effect.zipRight(Ref.get(rounds)),
              Effect.repeat({ until: (n) => n >= until })
            )
          )
        )
      expect(admitted(one, 6, 0, 10)).toBe(6)
      expect(admitted(two, 1, 0, 10)).toBe(1)
      yield* second(2)
      yield* second(4)
      expect(one.peek("voice:1", 10, 2000).remaining).toBe(3)
      expect(two.peek("voice:1", 10, 2000).remaining).toBe(3)
      expect(admitted(two, 9, 2000, 10)).toBe(3)
      yield* second(6)
      yield* second(8)
      expect(admitted(one, 9, 4000, 10)).toBe(0)
      expect(yield* sql`select sum(requests) as requests from request_counts`).toEqual([{ requests: 10 }])

      yield* TestClock.adjust("56 seconds")
      expect(admitted(one, 9, 60_000, 10)).toBe(9)
      expect(one.size()).toBe(1)
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})

describe("Request counts in the database", () => {
  it.scoped("may be written twice, in any order, and are removed after their minute", () =>
    Effect.gen(function* () {
      const repo = yield* RateLimitsRepo
      const write = (node: string, minute: number, requests: number) =>
        repo.exchange({ node, minute, counts: [["voice:1", requests]], buckets: ["voice:1", "voice:2"] })
      expect(yield* write("a", 5, 3)).toEqual([])
      yield* write("a", 5, 7)
      yield* write("a", 5, 7)
      yield* write("a", 5, 3)
      yield* write("b", 5, 2)
      expect(yield* write("c", 5, 1)).toEqual([["voice:1", 9]])
      expect(yield* write("c", 6, 1)).toEqual([])
      yield* repo.removeBefore(6)
      expect(yield* write("b", 6, 1)).toEqual([["voice:1", 1]])
      const sql = yield* SqlClient.SqlClient
      expect(yield* sql`select distinct minute from request_counts`).toEqual([{ minute: 6 }])
    }).pipe(Effect.provide(RateLimitsRepo.layer), Effect.provide(TestDatabase.layer))
  )
})
