import { expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { Effect, TestClock } from "effect"
import { describe } from "vitest"
import { FaultRegister } from "../../src/faults/PluginFaults.ts"

describe("The uncaught errors of a plugin", () => {
  it.effect("make its providers unhealthy when there are five within a minute, and for as long as that is so", () =>
    Effect.gen(function* () {
      const register = new FaultRegister()
      const health = register.health("house", Effect.succeed(healthy))
      for (const at of [0, 1, 2, 3]) register.record("house", at)
      expect(yield* health).toEqual(healthy)
      expect(register.record("house", 4)).toBe(5)
      expect(yield* health).toEqual({
        healthy: false,
        reason: "plugin house: 5 or more uncaught errors within a minute; the log has their texts"
      })
      expect(yield* register.health("other", Effect.succeed(healthy))).toEqual(healthy)
      yield* TestClock.adjust("61 seconds")
      expect(yield* health).toEqual(healthy)
      expect(register.counts()).toEqual([{ plugin: "house", errors: 5, stalls: 0 }])
    })
  )
})
