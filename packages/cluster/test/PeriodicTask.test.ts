import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, Scope, TestClock } from "effect"
import { type PeriodicTask, startPeriodicTask } from "../src/PeriodicTask.ts"

/** A task of one second in a scope that the test closes, with the messages it logged. */
const start = (options: Pick<PeriodicTask<never>, "run"> & Partial<PeriodicTask<never>>) =>
  Effect.gen(function* () {
    const logged: Array<readonly [message: unknown, cause: Cause.Cause<unknown>]> = []
    const scope = yield* Scope.make()
    yield* startPeriodicTask({ every: "1 second", failureMessage: "Not written", ...options }).pipe(
      Scope.extend(scope),
      Effect.provide(
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ cause, message }) => logged.push([message, cause]))
        )
      )
    )
    return { logged, close: Scope.close(scope, Exit.void) }
  })

describe("PeriodicTask", () => {
  it.effect("runs after every interval, first when one has passed, and stops when its scope closes", () =>
    Effect.gen(function* () {
      let runs = 0
      const { close } = yield* start({ run: Effect.sync(() => void runs++) })
      yield* TestClock.adjust("999 millis")
      expect(runs).toBe(0)
      yield* TestClock.adjust("1 millis")
      expect(runs).toBe(1)
      yield* TestClock.adjust("3 seconds")
      expect(runs).toBe(4)
      yield* close
      yield* TestClock.adjust("3 seconds")
      expect(runs).toBe(4)
    })
  )

  it.effect("continues after failures and defects, and logs only the first failure in a row", () =>
    Effect.gen(function* () {
      const outcomes: Array<Effect.Effect<void, string>> = [
        Effect.fail("refused"),
        Effect.die(new Error("broken")),
        Effect.interrupt,
        Effect.void,
        Effect.fail("refused"),
        Effect.void
      ]
      let runs = 0
      const { close, logged } = yield* start({ run: Effect.suspend(() => outcomes[runs++] ?? Effect.void) })
      yield* TestClock.adjust("3 seconds")
      expect(runs).toBe(3)
      expect(logged).toEqual([[["Not written"], Cause.fail("refused")]])
      yield* TestClock.adjust("3 seconds")
      expect(runs).toBe(6)
      expect(logged).toHaveLength(2)
      yield* close
    })
  )

  it.effect("interrupts a run that exceeds its timeout, and runs again after the next interval", () =>
    Effect.gen(function* () {
      let begun = 0
      let interrupted = 0
      const run = Effect.sync(() => void begun++).pipe(
        Effect.zipRight(Effect.never),
        Effect.onInterrupt(() => Effect.sync(() => void interrupted++))
      )
      const { close, logged } = yield* start({ run, timeout: "2 seconds" })
      yield* TestClock.adjust("2999 millis")
      expect([begun, interrupted]).toEqual([1, 0])
      yield* TestClock.adjust("1 millis")
      expect([begun, interrupted]).toEqual([1, 1])
      expect(logged).toHaveLength(1)
      yield* TestClock.adjust("1 second")
      expect([begun, interrupted]).toEqual([2, 1])
      yield* close
      expect([begun, interrupted]).toEqual([2, 2])
    })
  )

  it.effect("waits as long as an effect says, which is asked before each wait", () =>
    Effect.gen(function* () {
      const waits = [1_000, 5_000, 2_000]
      let asked = 0
      let runs = 0
      const { close } = yield* start({
        every: Effect.sync(() => waits[asked++] ?? 60_000),
        run: Effect.sync(() => void runs++)
      })
      yield* TestClock.adjust("1 second")
      expect([asked, runs]).toEqual([2, 1])
      yield* TestClock.adjust("4999 millis")
      expect(runs).toBe(1)
      yield* TestClock.adjust("1 millis")
      expect(runs).toBe(2)
      yield* TestClock.adjust("2 seconds")
      expect([asked, runs]).toEqual([4, 3])
      yield* close
    })
  )

  it.effect("leaves a run out while it has no work, but not the one when its scope closes", () =>
    Effect.gen(function* () {
      let hasWork = false
      let runs = 0
      const { close } = yield* start({
        hasWork: Effect.sync(() => hasWork),
        run: Effect.sync(() => void runs++),
        flushTimeout: "2 seconds"
      })
      yield* TestClock.adjust("3 seconds")
      expect(runs).toBe(0)
      hasWork = true
      yield* TestClock.adjust("1 second")
      expect(runs).toBe(1)
      hasWork = false
      yield* TestClock.adjust("3 seconds")
      yield* close
      expect(runs).toBe(2)
    })
  )

  it.effect("runs once more when its scope closes, only with a flushTimeout", () =>
    Effect.gen(function* () {
      let runs = 0
      const run = Effect.sync(() => void runs++)
      const silent = yield* start({ run })
      yield* silent.close
      expect(runs).toBe(0)
      const flushed = yield* start({ run, flushTimeout: "2 seconds" })
      yield* flushed.close
      expect(runs).toBe(1)
    })
  )

  it.effect("gives up the last run after flushTimeout", () =>
    Effect.gen(function* () {
      const { close, logged } = yield* start({ run: Effect.never, flushTimeout: "2 seconds" })
      const closing = yield* Effect.fork(close)
      yield* TestClock.adjust("1999 millis")
      expect(yield* closing.poll).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust("1 millis")
      yield* closing.await
      expect(logged).toHaveLength(1)
    })
  )
})
