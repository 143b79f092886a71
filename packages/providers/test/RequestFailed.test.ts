import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import { obeyRetryAfter, RequestFailed } from "../src/RequestFailed.ts"
import { makeSteppedClock } from "../src/testing/SteppedClock.ts"

describe("obeyRetryAfter", () => {
  it.effect("makes the same attempts when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      for (const step of [-3_600_000, 3_600_000]) {
        const system = yield* makeSteppedClock
        let attempts = 0
        const busy = Effect.suspend(() => {
          attempts++
          return new RequestFailed({ reason: "busy", retryable: true, retryAfterMs: 1500 })
        })
        const failed = yield* busy.pipe(
          obeyRetryAfter("4 seconds"),
          Effect.withClock(system.clock),
          Effect.flip,
          Effect.fork
        )
        yield* TestClock.adjust("1 second")
        yield* system.step(step)
        yield* TestClock.adjust("2 seconds")
        expect((yield* Fiber.join(failed)).reason).toBe("busy")
        expect(attempts).toBe(3)
      }
    })
  )
})
