import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { preparedPart, preparedResult } from "../../src/session/PreparedInput.ts"
import { wellFormed } from "../../src/session/WellFormed.ts"

const large = () => ({
  rows: Array.from({ length: 2000 }, (_, i) => ({ zz: "a\0b", a: i }))
})

/** How many turns of the event loop an effect takes. */
const turnsOf = <A>(effect: Effect.Effect<A>) =>
  Effect.gen(function* () {
    let turns = 0
    const count = (): void => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    const value = yield* effect
    clearImmediate(next)
    return { turns, value }
  })

describe("A part of an input", () => {
  it.effect("that is large is prepared in several turns of the event loop, and is then as in its input", () =>
    Effect.gen(function* () {
      const { turns, value } = yield* turnsOf(preparedPart(large(), 1))
      expect(turns).toBeGreaterThanOrEqual(3)
      expect(JSON.stringify(value)).toBe(JSON.stringify(wellFormed({ part: large() }).part))
      expect(wellFormed({ part: value }).part).toBe(value)
    })
  )

  it.effect("that is small is left to be cleaned with its input, at once", () =>
    Effect.gen(function* () {
      const small = { a: "x\0" }
      const { turns, value } = yield* turnsOf(preparedPart(small, 1))
      expect([turns, value]).toEqual([0, small])
    })
  )

  it.effect("that is the large result of a tool has its text for the model written in a turn of its own", () =>
    Effect.gen(function* () {
      const part = yield* turnsOf(preparedPart(large(), 1))
      const result = yield* turnsOf(preparedResult(large()))
      expect(result.turns).toBeGreaterThan(part.turns)
      expect(result.value).toEqual(part.value)
      expect((yield* turnsOf(preparedResult("yes"))).turns).toBe(0)
    })
  )
})
