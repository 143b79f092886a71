import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { yieldThread } from "../src/JsonLimits.ts"
import { atOnce, inSteps } from "../src/Thread.ts"

describe("yieldThread", () => {
  it.live("lets a timer that is due run first", () =>
    Effect.gen(function* () {
      let fired = false
      setTimeout(() => {
        fired = true
      }, 1)
      const due = performance.now() + 3
      while (performance.now() < due);
      yield* yieldThread
      expect(fired).toBe(true)
    })
  )
})

/** Work of so many steps of a millisecond each. */
function* milliseconds(count: number): Generator<void, string> {
  for (let step = 0; step < count; step++) {
    const due = performance.now() + 1
    while (performance.now() < due);
    yield
  }
  return "done"
}

describe("inSteps", () => {
  it.live("serves timers while the work goes on, and returns its result", () =>
    Effect.gen(function* () {
      let fired = 0
      const timer = setInterval(() => {
        fired += 1
      }, 1)
      expect(yield* inSteps(() => milliseconds(30))).toBe("done")
      clearInterval(timer)
      expect(fired).toBeGreaterThanOrEqual(3)
    })
  )

  it.live("serves timers before the result of a long last step is used", () =>
    Effect.gen(function* () {
      let fired = false
      setTimeout(() => {
        fired = true
      }, 1)
      yield* inSteps(function* () {
        atOnce(milliseconds(5))
      })
      expect(fired).toBe(true)
    })
  )

  it.effect("does short work at once", () =>
    Effect.gen(function* () {
      let turns = 0
      const immediate = setImmediate(() => {
        turns += 1
      })
      expect(yield* inSteps(() => milliseconds(1))).toBe("done")
      clearImmediate(immediate)
      expect(turns).toBe(0)
    })
  )
})

it("atOnce returns the result of all steps", () => {
  expect(atOnce(milliseconds(2))).toBe("done")
})
