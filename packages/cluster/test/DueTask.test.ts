import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Logger, Scope, TestClock } from "effect"
import { startDueTask } from "../src/DueTask.ts"

/** A task that runs at least every 10 seconds, in a scope that the test closes. */
const start = (run: Effect.Effect<number | undefined, string>) =>
  Effect.gen(function* () {
    const logged: Array<unknown> = []
    const scope = yield* Scope.make()
    const wake = yield* startDueTask({ run, atLeastEvery: "10 seconds", failureMessage: "Not read" }).pipe(
      Scope.extend(scope),
      Effect.provide(
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => logged.push(message))
        )
      )
    )
    yield* Effect.yieldNow()
    return { logged, wake, close: Scope.close(scope, Exit.void) }
  })

const unknown = Effect.sync(() => undefined)

describe("DueTask", () => {
  it.effect("runs at once, when the next row is due, when it is woken, and at least every interval", () =>
    Effect.gen(function* () {
      const waits = [300, undefined, 60_000, -5, 0]
      let runs = 0
      const { close, wake } = yield* start(Effect.sync(() => waits[runs++]))
      expect(runs).toBe(1)
      yield* TestClock.adjust("299 millis")
      expect(runs).toBe(1)
      yield* TestClock.adjust("1 millis")
      expect(runs).toBe(2)
      yield* TestClock.adjust("10 seconds")
      expect(runs).toBe(3)
      yield* TestClock.adjust("9 seconds")
      expect(runs).toBe(3)
      wake()
      yield* TestClock.adjust("0 millis")
      expect(runs).toBe(4)
      // What is due and cannot be claimed is not asked for without a pause.
      yield* TestClock.adjust("49 millis")
      expect(runs).toBe(4)
      yield* TestClock.adjust("1 millis")
      expect(runs).toBe(5)
      yield* close
      wake()
      yield* TestClock.adjust("1 minute")
      expect(runs).toBe(5)
    })
  )

  it.effect("runs again when it was woken during a run", () =>
    Effect.gen(function* () {
      let runs = 0
      let wake = () => {}
      const started = yield* start(
        Effect.sync(() => {
          if (++runs === 2) wake()
          return undefined
        })
      )
      wake = started.wake
      wake()
      yield* TestClock.adjust("0 millis")
      expect(runs).toBe(3)
      yield* started.close
    })
  )

  it.effect("goes on after failures and defects, and logs the first in a row", () =>
    Effect.gen(function* () {
      const outcomes = [Effect.fail("refused"), Effect.die("broken"), unknown, Effect.fail("refused")]
      let runs = 0
      const { close, logged } = yield* start(Effect.suspend(() => outcomes[runs++] ?? unknown))
      yield* TestClock.adjust("40 seconds")
      expect([runs, logged]).toEqual([5, [["Not read"], ["Not read"]]])
      yield* close
    })
  )
})
