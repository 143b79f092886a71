import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import {
  type Clock,
  Context,
  Deferred,
  Duration,
  Effect,
  Layer,
  Logger,
  LogLevel,
  Queue,
  Ref,
  type Scope,
  TestClock
} from "effect"
import { Cron } from "../src/Cron.ts"
import { NodeLease } from "../src/NodeLease.ts"

/** A live node on the database of the test. Its lease is a mock, because days of heartbeats would take too long. */
const node = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const id = `node_${crypto.randomUUID()}`
  yield* sql`insert into nodes (id, expires_at) values (${id}, now() + interval '1 hour')`
  const lost = yield* Deferred.make<void>()
  const lease = Layer.mock(NodeLease, { current: Effect.succeed({ id, lost: Deferred.await(lost) }) })
  const services = yield* Layer.build(Layer.fresh(Cron.layer).pipe(Layer.provide(lease)))
  return { cron: Context.get(services, Cron), id, lose: Deferred.succeed(lost, undefined) }
})

const daily = { name: "daily", every: "1 day", at: "3 hours" } as const

/** Number of fibers that sleep longer than any database timeout. */
class Waiting extends Context.Tag("Waiting")<Waiting, { count: number }>() {}

/** Replaces the test's clock with one that also counts sleeping fibers. */
const counted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Waiting>> =>
  Effect.clockWith((clock) => {
    const waiting = { count: 0 }
    const add = (n: number) => Effect.sync(() => (waiting.count += n))
    const sleep: Clock.Clock["sleep"] = (duration) =>
      Duration.greaterThan(duration, "5 seconds")
        ? Effect.acquireUseRelease(
            add(1),
            () => clock.sleep(duration),
            () => add(-1)
          )
        : clock.sleep(duration)
    return effect.pipe(
      Effect.provideService(Waiting, waiting),
      Effect.withClock(Object.assign(Object.create(clock), { sleep }))
    )
  })

/** Waits until this number of nodes have done what is due and sleep: until the next tick, or in long work. */
const settle = (nodes: number) =>
  Effect.gen(function* () {
    const waiting = yield* Waiting
    do yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    while (waiting.count !== nodes)
  })

const pass = (time: Parameters<typeof TestClock.adjust>[0], nodes: number) =>
  Effect.zipRight(TestClock.adjust(time), settle(nodes))

/** Work that counts its runs. */
const counter = Effect.map(Ref.make(0), (count) => ({ work: Ref.update(count, (n) => n + 1), count: Ref.get(count) }))

const jobRow = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly tick: Date; readonly node: string; readonly finished: boolean }>`
    select tick, node, finished_at is not null as finished from cron_jobs where job = 'daily'`
).pipe(Effect.map(([row]) => row))

const test = (name: string, body: () => Effect.Effect<void, unknown, SqlClient.SqlClient | Scope.Scope | Waiting>) =>
  it.scoped(name, () =>
    body().pipe(counted, Effect.provide(TestDatabase.layer), Logger.withMinimumLogLevel(LogLevel.None))
  )

describe("Cron", () => {
  test("runs a job once per tick, on any number of nodes", () =>
    Effect.gen(function* () {
      const done = yield* counter
      for (const { cron } of yield* Effect.all([node, node, node])) yield* cron.schedule(daily, done.work)
      // The newest missed tick is run.
      yield* settle(3)
      expect(yield* done.count).toBe(1)
      yield* pass("1 hour", 3)
      expect(yield* done.count).toBe(1)
      yield* pass("2 hours", 3)
      expect(yield* done.count).toBe(2)
      expect((yield* jobRow)?.tick).toEqual(new Date("1970-01-01T03:00:00Z"))
      yield* pass("1 day", 3)
      yield* pass("1 day", 3)
      expect(yield* done.count).toBe(4)
    }))

  test("does not repeat a tick after a restart, and runs the newest of missed ticks", () =>
    Effect.gen(function* () {
      const done = yield* counter
      yield* Effect.scoped(
        Effect.zipRight(
          Effect.flatMap(node, ({ cron }) => cron.schedule(daily, done.work)),
          settle(1)
        )
      )
      expect(yield* done.count).toBe(1)
      yield* TestClock.adjust("1 hour")
      yield* Effect.scoped(
        Effect.zipRight(
          Effect.flatMap(node, ({ cron }) => cron.schedule(daily, done.work)),
          settle(1)
        )
      )
      expect(yield* done.count).toBe(1)
      yield* TestClock.adjust("10 days")
      yield* Effect.flatMap(node, ({ cron }) => cron.schedule(daily, done.work))
      yield* settle(1)
      expect(yield* done.count).toBe(2)
    }))

  test("retries work that failed within 30 seconds", () =>
    Effect.gen(function* () {
      const tries = yield* Ref.make(0)
      const work = Ref.updateAndGet(tries, (n) => n + 1).pipe(
        Effect.flatMap((n) => (n < 3 ? Effect.dieMessage("not yet") : Effect.void))
      )
      const { cron } = yield* node
      yield* cron.schedule(daily, work)
      yield* settle(1)
      expect(yield* Ref.get(tries)).toBe(1)
      yield* pass("30 seconds", 1)
      expect(yield* Ref.get(tries)).toBe(2)
      expect((yield* jobRow)?.finished).not.toBe(true)
      yield* pass("30 seconds", 1)
      yield* pass("10 minutes", 1)
      expect(yield* Ref.get(tries)).toBe(3)
      expect((yield* jobRow)?.finished).toBe(true)
    }))

  test("interrupts work that exceeds `within`, and retries it", () =>
    Effect.gen(function* () {
      const began = yield* Queue.unbounded<void>()
      const stopped = yield* Queue.unbounded<void>()
      const { cron } = yield* node
      const hanging = Queue.offer(began, undefined).pipe(
        Effect.zipRight(Effect.never),
        Effect.onInterrupt(() => Queue.offer(stopped, undefined))
      )
      yield* cron.schedule({ ...daily, timeout: "1 minute" }, hanging)
      yield* Queue.take(began)
      yield* TestClock.adjust("1 minute")
      yield* Queue.take(stopped)
      yield* settle(1)
      yield* TestClock.adjust("30 seconds")
      yield* Queue.take(began)
    }))

  test("takes over from a node that died while it ran the job, and not from a live one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const begun = yield* Deferred.make<void>()
      const one = yield* node
      yield* one.cron.schedule(daily, Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
      yield* Deferred.await(begun)
      const done = yield* counter
      const other = yield* node
      yield* other.cron.schedule(daily, done.work)
      yield* pass("30 seconds", 2)
      expect(yield* done.count).toBe(0)

      // As if its lease had ended.
      yield* sql`update nodes set expires_at = now() - interval '1 second', dead_at = now() where id = ${one.id}`
      yield* pass("30 seconds", 2)
      expect(yield* done.count).toBe(1)
      expect((yield* jobRow)?.node).toBe(other.id)
    }))

  test("stops the work of a node that lost its lease", () =>
    Effect.gen(function* () {
      const stopped = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const { cron, lose } = yield* node
      const hanging = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      yield* cron.schedule(
        daily,
        Effect.onInterrupt(hanging, () => Deferred.succeed(stopped, undefined))
      )
      yield* Deferred.await(begun)
      yield* lose
      yield* Deferred.await(stopped)
    }))

  test("does not start a tick while the previous one runs", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const begun = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const { cron } = yield* node
      yield* cron.schedule(
        { name: "daily", every: "1 minute" },
        Ref.update(runs, (n) => n + 1).pipe(
          Effect.zipRight(Deferred.succeed(begun, undefined)),
          Effect.zipRight(Deferred.await(go))
        )
      )
      yield* Deferred.await(begun)
      const other = yield* node
      yield* other.cron.schedule(
        { name: "daily", every: "1 minute" },
        Ref.update(runs, (n) => n + 1)
      )
      yield* settle(2)
      for (let minute = 0; minute < 5; minute++) yield* pass("1 minute", 2)
      expect(yield* Ref.get(runs)).toBe(1)
      yield* Deferred.succeed(go, undefined)
      yield* settle(2)
      yield* pass("30 seconds", 2)
      expect(yield* Ref.get(runs)).toBe(2)
    }))
})
