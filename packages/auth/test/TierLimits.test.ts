import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { TierLimits } from "../src/TierLimits.ts"

const withVariables = (variables: { readonly [name: string]: string }) =>
  Layer.provide(TierLimits.layer, Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))))

const limits = (variables: { readonly [name: string]: string } = {}) =>
  Effect.provide(
    Effect.map(TierLimits, ({ of }) => of),
    withVariables(variables)
  )

describe("TierLimits", () => {
  it.effect("uses the documented defaults where no variable is set", () =>
    Effect.gen(function* () {
      const of = yield* limits()
      const rows = (["payg", "starter", "growth", "scale", "enterprise"] as const).map((tier) =>
        Object.values({ ...of(tier) })
      )
      expect(rows).toEqual([
        [300, 10, true, 60, 5],
        [600, 50, true, 120, 10],
        [1200, 100, true, 300, 20],
        [2400, 250, true, 600, 40],
        [null, 1000, false, null, 100]
      ])
    })
  )
  it.effect("each limit can be set for one tier, and enterprise's concurrent calls are then enforced", () =>
    Effect.gen(function* () {
      const of = yield* limits({
        SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG: "7",
        SVC_LIMIT_REQUESTS_PER_MINUTE_SCALE: "unlimited",
        SVC_LIMIT_CONCURRENT_CALLS_ENTERPRISE: "2000",
        SVC_LIMIT_CHAT_PER_MINUTE_ENTERPRISE: "9",
        SVC_LIMIT_CHAT_CONCURRENT_STARTER: " 1 ",
        SVC_LIMIT_CHAT_CONCURRENT_GROWTH: ""
      })
      expect(of("payg").requestsPerMinute).toBe(7)
      expect(of("scale").requestsPerMinute).toBeNull()
      expect(of("enterprise")).toMatchObject({ concurrentCalls: 2000, concurrentCallsEnforced: true, chatPerMinute: 9 })
      expect(of("starter").chatConcurrent).toBe(1)
      expect(of("growth").chatConcurrent).toBe(20)
    })
  )
  it.effect.each([
    ["SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG", "0"],
    ["SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG", "many"],
    ["SVC_LIMIT_CONCURRENT_CALLS_GROWTH", "unlimited"],
    ["SVC_LIMIT_CONCURRENT_CALLS_GROWTH", "-1"],
    ["SVC_LIMIT_CHAT_PER_MINUTE_SCALE", "1.5"],
    ["SVC_LIMIT_CHAT_CONCURRENT_STARTER", "1e3"]
  ] as const)("a variable that cannot be read stops the start, named: %s=%s", ([name, value]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(limits({ [name]: value }))
      expect(String(error)).toContain(name)
      expect(String(error)).toContain("must be a whole number")
    })
  )
})
