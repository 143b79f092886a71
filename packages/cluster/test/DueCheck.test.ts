import { SqlClient, Statement } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Cause, Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Option, Scope, TestClock } from "effect"
import { DueCheck, type DueExpression, makeDueCheck } from "../src/DueCheck.ts"
import { NodeLease } from "../src/NodeLease.ts"

/** A node on the database of the test, with its statements and what it logged. */
const start = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const node = { others: 0 }
  const statements: Array<string> = []
  const logged: Array<readonly [message: unknown, cause: string]> = []
  const lease = {
    current: Effect.never,
    others: Effect.sync(() => node.others),
    onDeath: () => Effect.void
  }
  const { register } = yield* Layer.build(
    Layer.fresh(DueCheck.layer).pipe(Layer.provide(Layer.succeed(NodeLease, lease)))
  ).pipe(
    Effect.map(Context.get(DueCheck)),
    Statement.withTransformer((statement) =>
      Effect.sync(() => {
        statements.push(statement.compile(true)[0])
        return statement
      })
    ),
    Effect.provide(
      Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ cause, message }) => logged.push([message, Cause.pretty(cause, { renderErrorCause: true })]))
      )
    )
  )
  /** A worker that counts how often it is woken. */
  const worker = Effect.fnUntraced(function* (name: string, expression: DueExpression) {
    const counted = { woken: 0 }
    const wait = yield* register(name, expression)
    yield* Effect.forkScoped(Effect.forever(Effect.tap(wait, () => Effect.sync(() => counted.woken++))))
    return counted
  })
  yield* sql`create table tasks (name text, next_at timestamptz not null default now())`
  const hasTask = (name: string) => () => sql`exists (select from tasks where name = ${name})`
  return { sql, node, statements, logged, register, worker, hasTask }
})

/** Waits for the statements that have begun. */
const settle = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (let round = 0; round < 5; round++) {
    yield* Effect.ignore(sql`select pg_sleep(0.002)`)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
})

const seconds = (count: number) => Effect.repeatN(Effect.zipRight(TestClock.adjust("1 second"), settle), count - 1)

const test = (name: string, body: () => Effect.Effect<void, unknown, SqlClient.SqlClient | Scope.Scope>) =>
  it.scoped(name, () => body().pipe(Effect.provide(TestDatabase.layer)))

describe.concurrent("DueCheck", () => {
  test("wakes the workers for which something is due, with one statement every 2 seconds", () =>
    Effect.gen(function* () {
      const { hasTask, sql, statements, worker } = yield* start
      const workers = yield* Effect.forEach(["numbers.orders", "sms.messages"], (name) => worker(name, hasTask(name)))
      yield* seconds(6)
      expect([statements.length, workers.map(({ woken }) => woken)]).toEqual([3, [0, 0]])
      yield* sql`insert into tasks values ('sms.messages')`
      yield* seconds(2)
      expect([statements.length, workers.map(({ woken }) => woken)]).toEqual([4, [0, 1]])
      // As long as the worker leaves it.
      yield* seconds(2)
      expect(workers.map(({ woken }) => woken)).toEqual([0, 2])
    }))

  test("checks every second while other nodes are alive", () =>
    Effect.gen(function* () {
      const { hasTask, node, sql, statements, worker } = yield* start
      const orders = yield* worker("numbers.orders", hasTask("numbers.orders"))
      node.others = 1
      yield* seconds(4)
      expect(statements).toHaveLength(3)
      yield* sql`insert into tasks values ('numbers.orders')`
      yield* seconds(1)
      expect(orders.woken).toBe(1)
    }))

  test("wakes a worker at the time that its expression gives, also between two checks", () =>
    Effect.gen(function* () {
      const { sql, worker } = yield* start
      let inMillis: number | null = null
      const orders = yield* worker("numbers.orders", () => sql`${inMillis}::float8`)
      inMillis = 2_000
      yield* seconds(2)
      inMillis = 300
      yield* seconds(2)
      expect(orders.woken).toBe(0)
      inMillis = null
      yield* TestClock.adjust("299 millis")
      expect(orders.woken).toBe(0)
      yield* TestClock.adjust("1 millis")
      expect(orders.woken).toBe(1)
      yield* seconds(4)
      expect(orders.woken).toBe(1)
      inMillis = -100
      yield* seconds(2)
      expect(orders.woken).toBe(2)
    }))

  test("gives expressions the time of the node, and sends the same text each time", () =>
    Effect.gen(function* () {
      const { sql, statements, worker } = yield* start
      const orders = yield* worker("numbers.orders", (now) => sql`${now}::timestamptz >= '1970-01-01T00:00:04Z'`)
      yield* seconds(2)
      expect(orders.woken).toBe(0)
      yield* seconds(2)
      expect(orders.woken).toBe(1)
      expect(new Set(statements).size).toBe(1)
    }))

  test("a worker that was busy when something was due is woken when it waits again", () =>
    Effect.gen(function* () {
      const { hasTask, register, sql } = yield* start
      const wait = yield* register("sms.messages", hasTask("sms.messages"))
      yield* sql`insert into tasks values ('sms.messages')`
      yield* seconds(2)
      yield* sql`delete from tasks`
      yield* wait
      const waiting = yield* Effect.fork(wait)
      yield* seconds(4)
      expect(yield* waiting.poll).toEqual(Option.none())
    }))

  test("a check with an expression that fails wakes all workers, and the first failure in a row is logged", () =>
    Effect.gen(function* () {
      const { hasTask, logged, sql, worker } = yield* start
      const orders = yield* worker("numbers.orders", hasTask("numbers.orders"))
      const scope = yield* Scope.make()
      yield* Scope.extend(
        worker("sms.messages", () => sql`exists (select from no_such_table)`),
        scope
      )
      yield* seconds(2)
      expect(orders.woken).toBe(1)
      expect(logged).toEqual([
        [
          ["Could not check whether work is due; each worker looks for itself"],
          expect.stringContaining("no_such_table")
        ]
      ])
      yield* seconds(4)
      expect([orders.woken, logged.length]).toEqual([3, 1])
      yield* Scope.close(scope, Exit.void)
      yield* seconds(2)
      expect([orders.woken, logged.length]).toEqual([3, 1])
      yield* worker("broken", () => {
        throw new Error("no expression")
      })
      yield* seconds(2)
      expect([orders.woken, logged.length]).toEqual([4, 2])
    }))

  test("a check that hangs at a locked table has failed after 2 seconds, wakes all workers, and is repeated after a pause", () =>
    Effect.gen(function* () {
      const { hasTask, logged, sql, worker } = yield* start
      const orders = yield* worker("numbers.orders", hasTask("numbers.orders"))
      yield* sql`create table locked ()`
      yield* worker("sms.messages", () => sql`exists (select from locked)`)
      const hasLocked = yield* Deferred.make<void>()
      const mayEnd = yield* Deferred.make<void>()
      const lock = yield* sql`lock table locked`.pipe(
        Effect.zipRight(Deferred.succeed(hasLocked, undefined)),
        Effect.zipRight(Deferred.await(mayEnd)),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(hasLocked)
      yield* seconds(3)
      expect([orders.woken, logged.length]).toEqual([0, 0])
      yield* seconds(1)
      expect([orders.woken, logged.length]).toEqual([1, 1])
      yield* seconds(3)
      expect([orders.woken, logged.length]).toEqual([2, 1])
      yield* Deferred.succeed(mayEnd, undefined)
      yield* lock.await
      yield* seconds(6)
      expect([orders.woken, logged.length]).toEqual([2, 1])
    }))

  it.scoped("while the database does not answer no worker is woken, and one warning is logged", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const database = { isDown: true, hangs: false, values: 0, answers: 0 }
      const statement = Effect.suspend(() => {
        if (database.hangs) return Effect.never
        return database.isDown ? Effect.fail("down") : Effect.void
      })
      const { register } = yield* makeDueCheck({
        values: () =>
          Effect.zipRight(
            Effect.sync(() => database.values++),
            Effect.as(statement, { orders: true })
          ),
        answers: Effect.zipRight(
          Effect.sync(() => database.answers++),
          statement
        )
      }).pipe(
        Effect.provide(Layer.mock(NodeLease, { others: Effect.succeed(0) })),
        Effect.provide(
          Logger.replace(
            Logger.defaultLogger,
            Logger.make(({ message }) => logged.push(message))
          )
        )
      )
      let woken = 0
      const wait = yield* register("orders", () => Statement.unsafeFragment("true"))
      yield* Effect.forkScoped(Effect.forever(Effect.tap(wait, () => Effect.sync(() => woken++))))
      yield* TestClock.adjust("3900 millis")
      expect([database.values, database.answers, woken]).toEqual([1, 4, 0])
      database.hangs = true
      yield* TestClock.adjust("20 seconds")
      expect([database.values, woken]).toEqual([1, 0])
      expect(logged).toEqual([["Could not check whether work is due; trying again"]])
      Object.assign(database, { isDown: false, hangs: false })
      yield* TestClock.adjust("2500 millis")
      const wokenSoon = woken
      expect(wokenSoon).toBeGreaterThan(0)
      yield* TestClock.adjust("4 seconds")
      expect([woken - wokenSoon, logged.length]).toEqual([2, 1])
    })
  )

  test("a registration ends with its scope, and nothing is asked without one", () =>
    Effect.gen(function* () {
      const { hasTask, statements, worker } = yield* start
      const scope = yield* Scope.make()
      yield* worker("numbers.orders", hasTask("numbers.orders")).pipe(Scope.extend(scope))
      yield* seconds(2)
      yield* Scope.close(scope, Exit.void)
      yield* seconds(4)
      expect(statements).toHaveLength(1)
      const again = yield* worker("numbers.orders", hasTask("numbers.orders"))
      yield* seconds(2)
      expect([statements.length, again.woken]).toEqual([2, 0])
    }))

  test("a name that is registered already is a defect", () =>
    Effect.gen(function* () {
      const { hasTask, worker } = yield* start
      yield* worker("numbers.orders", hasTask("numbers.orders"))
      const exit = yield* Effect.exit(worker("numbers.orders", hasTask("numbers.orders")))
      expect(exit).toEqual(Exit.die(new Cause.RuntimeException("numbers.orders is registered already")))
    }))

  describe("of a slow database", () => {
    /** A check each statement of which takes 1.5 seconds, and when statements began, in milliseconds. */
    const slow = (others: number, value: boolean | number) =>
      Effect.gen(function* () {
        const began: Array<number> = []
        const { register } = yield* makeDueCheck({
          values: () =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => {
              began.push(now)
              return Effect.delay(Effect.succeed({ worker: value }), "1500 millis")
            }),
          answers: Effect.void
        }).pipe(Effect.provide(Layer.mock(NodeLease, { others: Effect.succeed(others) })))
        return { began, wait: yield* register("worker", () => Statement.unsafeFragment("")) }
      })

    it.scoped("waits half an interval at least between two checks", () =>
      Effect.gen(function* () {
        const { began } = yield* slow(1, false)
        yield* TestClock.adjust("6 seconds")
        expect(began).toEqual([1000, 3000, 5000])
      })
    )

    it.scoped("counts the time that an expression gives from the beginning of the check", () =>
      Effect.gen(function* () {
        const { began, wait } = yield* slow(0, 1600)
        const waiting = yield* Effect.fork(Effect.zipRight(wait, Clock.currentTimeMillis))
        yield* TestClock.adjust("4 seconds")
        expect([began, yield* Fiber.join(waiting)]).toEqual([[2000], 3600])
      })
    )
  })
})
