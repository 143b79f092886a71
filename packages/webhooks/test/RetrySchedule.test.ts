import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option } from "effect"
import { RetrySchedule } from "../src/delivery/RetrySchedule.ts"

const scheduleOf = (text?: string) =>
  RetrySchedule.pipe(
    Effect.provide(RetrySchedule.layer),
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map(text === undefined ? [] : [["SVC_WEBHOOK_RETRY_SCHEDULE", text]]))
    )
  )

describe("RetrySchedule", () => {
  it.effect("by default attempts are made at once and after 30 s, 5 min and 30 min, each ±10 %", () =>
    Effect.gen(function* () {
      const { afterMs, firstMs } = yield* scheduleOf()
      expect(firstMs).toBe(0)
      for (const [attempts, planned] of [
        [1, 30_000],
        [2, 300_000],
        [3, 1_800_000]
      ] as const) {
        const waits = Option.all(yield* Effect.replicateEffect(afterMs(attempts), 200))
        const seen = Option.getOrThrow(waits)
        expect(Math.min(...seen)).toBeGreaterThanOrEqual(planned * 0.9)
        expect(Math.max(...seen)).toBeLessThanOrEqual(planned * 1.1)
        expect(Math.max(...seen) - Math.min(...seen)).toBeGreaterThan(planned * 0.1)
      }
      expect(yield* afterMs(4)).toEqual(Option.none())
    })
  )

  it.effect("SVC_WEBHOOK_RETRY_SCHEDULE sets the number of attempts and the times between them", () =>
    Effect.gen(function* () {
      const { afterMs, firstMs } = yield* scheduleOf("250ms, 1.5s,2h")
      expect(firstMs).toBe(250)
      const waits = [yield* afterMs(1), yield* afterMs(2), yield* afterMs(3)]
      expect(Option.getOrThrow(waits[0] ?? Option.none())).toBeCloseTo(1500, -3)
      expect(Option.getOrThrow(waits[1] ?? Option.none())).toBeGreaterThan(6_400_000)
      expect(waits[2]).toEqual(Option.none())
    })
  )

  it.effect("an invalid SVC_WEBHOOK_RETRY_SCHEDULE is refused by its name", () =>
    Effect.gen(function* () {
      for (const text of ["30", "0s,,1s", "1d", "-1s", Array(21).fill("1s").join(",")]) {
        const error = yield* Effect.flip(
          Effect.asVoid(
            Layer.build(RetrySchedule.layer).pipe(
              Effect.scoped,
              Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_WEBHOOK_RETRY_SCHEDULE", text]])))
            )
          )
        )
        expect(String(error), text).toContain("SVC_WEBHOOK_RETRY_SCHEDULE")
      }
    })
  )
})
