import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Option, TestClock } from "effect"
import { contextTurn } from "../src/ContextTurn.ts"
import { makeSteppedClock } from "../src/testing/SteppedClock.ts"

const request = {
  callId: "call_1",
  turn: "turn_1",
  voice: "Sarah",
  language: "en-US",
  sampleRate: 8000,
  speed: 1,
  sink: { write: () => true, align: () => {}, drained: Effect.void }
}

/** A turn at a vendor that takes all text and never gives audio. */
const silentTurn = contextTurn(request, () => Effect.succeed({ say: () => {}, end: () => {}, finished: Effect.never }))

describe("contextTurn", () => {
  it.scoped("a vendor has the same time for its audio when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      for (const step of [-3_600_000, 3_600_000]) {
        for (const isEnded of [false, true]) {
          const system = yield* makeSteppedClock
          const turn = yield* Effect.withClock(silentTurn, system.clock)
          const failed = yield* Effect.fork(Effect.flip(turn.done))
          yield* TestClock.adjust("7 seconds")
          turn.say("Hello.")
          if (isEnded) turn.end()
          yield* system.step(step)
          yield* TestClock.adjust("7999 millis")
          expect(yield* Fiber.poll(failed)).toEqual(Option.none())
          yield* TestClock.adjust("1 millis")
          expect(yield* Fiber.join(failed)).toMatchObject({
            reason: "the vendor gave no audio for 8s",
            retryable: true
          })
        }
      }
    })
  )
})
