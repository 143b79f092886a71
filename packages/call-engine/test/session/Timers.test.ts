import { expect, it } from "@effect/vitest"
import { Clock, Effect, TestClock } from "effect"
import * as Timers from "../../src/session/Timers.ts"

/** Timers on the test clock, and what fired when. */
const make = Effect.gen(function* () {
  const fired: Array<readonly [string, number]> = []
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()
  let onFired = (_timer: string): void => {}
  let stalled = 0
  const timers = yield* Timers.make({
    now,
    stalled: (timer) => (timer === "exact" ? 0 : stalled),
    onFired: (timer) => {
      fired.push([timer, now()])
      onFired(timer)
    }
  })
  const whenFired = (handler: (timer: string) => void) => {
    onFired = handler
  }
  const stall = (ms: number) => {
    stalled += ms
  }
  return { timers, fired, whenFired, stall }
})

it.scoped("each timer fires once, in order of time", () =>
  Effect.gen(function* () {
    const { fired, timers } = yield* make
    timers.start("late", 300)
    timers.start("soon", 100)
    timers.start("between", 200)
    yield* TestClock.adjust("1 second")
    expect(fired).toEqual([
      ["soon", 100],
      ["between", 200],
      ["late", 300]
    ])
  })
)

it.scoped("a stopped timer does not fire and does not delay others", () =>
  Effect.gen(function* () {
    const { fired, timers } = yield* make
    timers.start("first", 100)
    timers.start("second", 200)
    timers.stop("first")
    timers.stop("never set")
    yield* TestClock.adjust("1 second")
    expect(fired).toEqual([["second", 200]])
  })
)

it.scoped("a timer that is started again counts from then", () =>
  Effect.gen(function* () {
    const { fired, timers } = yield* make
    timers.start("it", 100)
    yield* TestClock.adjust("60 millis")
    timers.start("it", 100)
    yield* TestClock.adjust("99 millis")
    expect(fired).toEqual([])
    yield* TestClock.adjust("1 millis")
    expect(fired).toEqual([["it", 160]])
    timers.start("it", 50)
    timers.start("it", 20)
    yield* TestClock.adjust("1 second")
    expect(fired).toEqual([
      ["it", 160],
      ["it", 180]
    ])
  })
)

it.scoped("a timer that fires may stop, restart and start timers, itself included", () =>
  Effect.gen(function* () {
    const { fired, timers, whenFired } = yield* make
    whenFired((timer) => {
      if (timer !== "a" || fired.length > 1) return
      timers.stop("stopped")
      timers.start("put off", 30)
      timers.start("a", 10)
    })
    timers.start("a", 100)
    timers.start("stopped", 100)
    timers.start("put off", 100)
    yield* TestClock.adjust("1 second")
    expect(fired).toEqual([
      ["a", 100],
      ["a", 110],
      ["put off", 130]
    ])
  })
)

it.scoped("a timer does not count a stall of the process since its start, and takes at most twice its time", () =>
  Effect.gen(function* () {
    const { fired, stall, timers } = yield* make
    stall(5000)
    timers.start("long", 1000)
    timers.start("short", 200)
    timers.start("exact", 300)
    yield* TestClock.adjust("100 millis")
    stall(400)
    timers.start("later", 350)
    yield* TestClock.adjust("2 seconds")
    expect(fired).toEqual([
      ["exact", 300],
      ["short", 400],
      ["later", 450],
      ["long", 1400]
    ])
  })
)

it.effect("no timer fires after the scope has closed", () =>
  Effect.gen(function* () {
    const fired = yield* Effect.scoped(
      Effect.map(make, ({ fired, timers }) => {
        timers.start("it", 100)
        return fired
      })
    )
    yield* TestClock.adjust("1 second")
    expect(yield* Clock.currentTimeMillis).toBe(1000)
    expect(fired).toEqual([])
  })
)
