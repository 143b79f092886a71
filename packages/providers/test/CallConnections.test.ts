import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Exit, Scope, TestClock } from "effect"
import { make } from "../src/CallConnections.ts"

/** Connections that are numbers, in the order in which they were opened. */
const numbered = Effect.gen(function* () {
  const open = new Set<number>()
  const retires: Array<() => void> = []
  let failing = false
  const connections = yield* make({
    nameOf: (key: string) => key,
    idle: "2 minutes",
    open: (_, retire) =>
      Effect.suspend(() => {
        if (failing) return Effect.fail("refused" as const)
        const number = retires.push(retire)
        return Effect.acquireRelease(
          Effect.sync(() => {
            open.add(number)
            return number
          }),
          () => Effect.sync(() => open.delete(number))
        )
      })
  })
  return {
    acquire: (key: string) => Effect.scoped(connections.acquire(key)),
    /** A use that lasts until its scope is closed. */
    hold: (key: string) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const number = yield* Scope.extend(connections.acquire(key), scope)
        return { number, release: Scope.close(scope, Exit.void) }
      }),
    open: () => [...open],
    retire: (number: number) => retires[number - 1]?.(),
    fail: (isFailing: boolean) => {
      failing = isFailing
    }
  }
})

describe("CallConnections", () => {
  it.scoped("share one connection for each key, and close it some time after its last use", () =>
    Effect.gen(function* () {
      const { acquire, hold, open } = yield* numbered
      expect(yield* Effect.all([acquire("a"), acquire("a"), acquire("b")], { concurrency: 3 })).toEqual([1, 1, 2])
      yield* TestClock.adjust("119 seconds")
      const { release } = yield* hold("a")
      yield* TestClock.adjust("1 seconds")
      expect(open()).toEqual([1])
      yield* TestClock.adjust("1 hour")
      expect(open()).toEqual([1])
      yield* release
      yield* TestClock.adjust("2 minutes")
      expect(open()).toEqual([])
      expect(yield* acquire("a")).toBe(3)
    })
  )

  it.scoped(
    "open another one when one takes no more turns, and close that one with its last turn, not its successor",
    () =>
      Effect.gen(function* () {
        const { acquire, hold, open, retire } = yield* numbered
        const { number, release } = yield* hold("a")
        retire(number)
        retire(number)
        expect(yield* acquire("a")).toBe(2)
        expect(open()).toEqual([1, 2])
        yield* release
        yield* TestClock.adjust("119 seconds")
        expect(yield* acquire("a")).toBe(2)
        retire(1)
        expect(yield* acquire("a")).toBe(2)
        yield* TestClock.adjust("2 minutes")
        expect(open()).toEqual([])
      })
  )

  it.scoped("close an unused one at once when it takes no more turns, and try again after a failure", () =>
    Effect.gen(function* () {
      const { acquire, fail, open, retire } = yield* numbered
      retire(yield* acquire("a"))
      yield* Effect.yieldNow()
      expect(open()).toEqual([])
      fail(true)
      expect(yield* Effect.either(acquire("a"))).toEqual(Either.left("refused"))
      fail(false)
      expect(yield* acquire("a")).toBe(2)
    })
  )

  it.effect("are all closed with the scope in which they were made", () =>
    Effect.gen(function* () {
      const open = yield* Effect.scoped(
        Effect.gen(function* () {
          const { acquire, open } = yield* numbered
          yield* acquire("a")
          yield* acquire("b")
          expect(open()).toEqual([1, 2])
          return open
        })
      )
      expect(open()).toEqual([])
    })
  )
})
