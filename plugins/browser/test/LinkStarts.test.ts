import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { LinkStarts } from "../src/LinkStarts.ts"

/** A link with so many calls left, and a clock that is set by hand. */
const linkOf = (calls: number) => {
  const link = { left: calls, now: 0, reads: 0 }
  const starts = new LinkStarts(() => link.now)
  const state = Effect.sync(() => (link.left > 0 ? ("open" as const) : ("closed" as const)))
  const left = Effect.sync(() => {
    link.reads++
    return link.left
  })
  const reserve = starts.reserve("token", state, left)
  /** The engine admits the call of a socket. */
  const admitted = () => {
    const { decide } = starts.accepted("token")
    link.left--
    decide()
  }
  const isWaiting = (fiber: Fiber.RuntimeFiber<unknown>) =>
    Effect.map(Effect.yieldNow(), () => fiber.unsafePoll() === null)
  return { link, starts, state, left, reserve, admitted, isWaiting }
}

describe("Starts of calls with one link", () => {
  it.effect("that come at once are as many as calls are left; the others learn that the link is used up", () =>
    Effect.gen(function* () {
      const { admitted, isWaiting, reserve } = linkOf(2)
      expect([yield* reserve, yield* reserve]).toEqual([undefined, undefined])
      const others = yield* Effect.forEach([1, 2, 3], () => Effect.fork(reserve))
      for (const other of others) expect(yield* isWaiting(other)).toBe(true)
      admitted()
      for (const other of others) expect(yield* isWaiting(other)).toBe(true)
      admitted()
      expect(yield* Fiber.joinAll(others)).toEqual(["closed", "closed", "closed"])
    })
  )

  it.effect("go on where one before was refused, and do not wait while enough calls are left", () =>
    Effect.gen(function* () {
      const { isWaiting, link, reserve, starts } = linkOf(1)
      yield* reserve
      const next = yield* Effect.fork(reserve)
      expect(yield* isWaiting(next)).toBe(true)
      starts.accepted("token").decide()
      expect(yield* Fiber.join(next)).toBe(undefined)
      link.left = 1000
      for (let n = 0; n < 200; n++) expect(yield* reserve).toBe(undefined)
    })
  )

  it.effect("one at a time ask for the state only", () =>
    Effect.gen(function* () {
      const { admitted, link, reserve } = linkOf(3)
      for (let n = 0; n < 3; n++) {
        expect(yield* reserve).toBe(undefined)
        admitted()
      }
      expect([yield* reserve, link.reads]).toEqual(["closed", 0])
    })
  )

  it.effect("are not accepted by a count from before another was admitted", () =>
    Effect.gen(function* () {
      const { admitted, link, starts, state } = linkOf(1)
      const stale = Effect.sync(() => {
        const { left } = link
        if (left > 0) admitted()
        return left
      })
      yield* starts.reserve("token", state, stale)
      expect(yield* starts.reserve("token", state, stale)).toBe("closed")
      // The same where the state is what is stale.
      const other = linkOf(1)
      yield* other.reserve
      const once = Effect.suspend(() =>
        other.link.left > 0 ? Effect.as(Effect.sync(other.admitted), "open" as const) : other.state
      )
      expect(yield* other.starts.reserve("token", once, other.left)).toBe("closed")
    })
  )

  it.effect("without a socket for 5 s, or a decision for a minute, are given up", () =>
    Effect.gen(function* () {
      const { isWaiting, link, reserve, starts } = linkOf(1)
      yield* reserve
      const second = yield* Effect.fork(reserve)
      link.now = 4999
      starts.check()
      expect(yield* isWaiting(second)).toBe(true)
      link.now = 5000
      starts.check()
      expect(yield* Fiber.join(second)).toBe(undefined)
      starts.accepted("token")
      const third = yield* Effect.fork(reserve)
      link.now = 60_000
      starts.check()
      expect(yield* isWaiting(third)).toBe(true)
      link.now = 65_000
      starts.check()
      expect(yield* Fiber.join(third)).toBe(undefined)
    })
  )
})
