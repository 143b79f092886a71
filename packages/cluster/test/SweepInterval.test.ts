import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { sweepInterval } from "../src/SweepInterval.ts"

describe("sweepInterval", () => {
  it.effect("follows the number of other live nodes", () =>
    Effect.gen(function* () {
      let others = 0
      const lease = { current: Effect.never, others: Effect.sync(() => others), onDeath: () => Effect.void }
      const millis = Effect.map(sweepInterval(lease, "1 second", "5 seconds"), Duration.toMillis)
      expect(yield* millis).toBe(5_000)
      others = 2
      expect(yield* millis).toBe(1_000)
      others = 0
      expect(yield* millis).toBe(5_000)
    })
  )
})
