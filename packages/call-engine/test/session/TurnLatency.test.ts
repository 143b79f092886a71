import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

describe("latency_turns", () => {
  it.live("add up: model, text-to-speech and engine together are the time that the caller waits", () =>
    Effect.gen(function* () {
      const { state } = yield* during(
        () => ({}),
        ({ say, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("Hi")
            yield* wait("4 seconds")
          }),
        configuration({ otherwise: "Nice to hear you.", first_token_ms: 300 }).json
      )
      const [turn] = state.latencies
      expect(turn?.llm_ttfb_ms).toBeGreaterThanOrEqual(300)
      expect(turn?.platform_ms).toBeLessThan(5)
      expect((turn?.tts_start_ms ?? 0) + (turn?.tts_ttfb_ms ?? 0) + (turn?.platform_ms ?? 0)).toBeCloseTo(
        turn?.response_ms ?? -1,
        1
      )
      expect(turn?.endpointing_ms).toBeGreaterThanOrEqual(0)
    })
  )
})
