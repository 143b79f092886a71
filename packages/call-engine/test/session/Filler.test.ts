import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

describe("SVC_FILLER_AFTER_MS", () => {
  const answer = configuration({ otherwise: "Ok.", first_token_ms: 3000 }).json

  it.live("enables fillers in calls", () =>
    Effect.gen(function* () {
      const { result } = yield* during(
        () => ({}),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("Hi")
            yield* wait("6 seconds")
            return turns()
          }),
        answer,
        [["SVC_FILLER_AFTER_MS", "800"]]
      )
      expect(result).toEqual(["assistant: Hello.", "user: Hi", "assistant: One moment, please.", "assistant: Ok."])
    })
  )

  it.live("stops the start when it is invalid", () =>
    Effect.gen(function* () {
      for (const value of ["soon", "-1", "50", "60000"]) {
        const call = during(
          () => ({}),
          () => Effect.void,
          answer,
          [["SVC_FILLER_AFTER_MS", value]]
        )
        expect(String(yield* Effect.flip(call))).toContain("SVC_FILLER_AFTER_MS")
      }
    })
  )
})
