import { describe, expect, it } from "@effect/vitest"
import { BigDecimal, ConfigProvider, Effect, FastCheck as fc } from "effect"
import { chargeOf, freeRates } from "../src/CallCharge.ts"
import { Rates } from "../src/Rates.ts"
import { eur, figures } from "./Account.ts"

const rates = { ...freeRates, call: eur("0.08"), recording: eur("0.004"), transfer: eur("0.02") }
const numbers = (charge: ReturnType<typeof chargeOf>) =>
  Object.fromEntries(Object.entries(charge).map(([name, amount]) => [name, BigDecimal.unsafeToNumber(amount)]))

describe("chargeOf", () => {
  it("charges the call per second, and the recording per started minute", () => {
    expect(numbers(chargeOf(rates, figures(90, { recording_seconds: 61 })))).toEqual({
      minutes_used: 1.5,
      rate_per_minute: 0.08,
      call_cost: 0.12,
      recording_cost: 0.008,
      transfer_cost: 0,
      llm_discount: 0,
      llm_cost: 0,
      total_cost: 0.128
    })
  })

  it("rounds minutes_used to 4 decimals, and charges the rounded minutes", () => {
    // 100 s are 1.6667 minutes, which cost 0.1333.
    expect(numbers(chargeOf(rates, figures(100)))).toMatchObject({ minutes_used: 1.6667, call_cost: 0.1333 })
    expect(numbers(chargeOf(rates, figures(1)))).toMatchObject({ minutes_used: 0.0167, call_cost: 0.0013 })
  })

  it("rounds fractions of a second, and llm_discount to 6 decimals", () => {
    expect(numbers(chargeOf(rates, figures(59.5)))).toMatchObject({ minutes_used: 1 })
    expect(numbers(chargeOf(rates, figures(60.4)))).toMatchObject({ minutes_used: 1 })
    // 0.000001 of 43,200 EUR
    const month = figures(30 * 86_400, { llm_discount: 0.0000006 })
    expect(numbers(chargeOf({ ...rates, call: eur("1") }, month))).toMatchObject({ llm_discount: 0.0432 })
  })

  it("deducts llm_discount from the call's cost alone, and from total_cost", () => {
    const charge = chargeOf(rates, figures(600, { recording_seconds: 600, transfer_seconds: 30, llm_discount: 0.25 }))
    expect(numbers(charge)).toMatchObject({
      call_cost: 0.8,
      recording_cost: 0.04,
      transfer_cost: 0.01,
      llm_discount: 0.2,
      total_cost: 0.65
    })
  })

  it("charges the tokens of the models by the million, and those from the cache at their own rate", () => {
    const llm = { input: eur("2.5"), cached_input: eur("1.25"), output: eur("10") }
    const tokens = { input_tokens: 40_000, cached_input_tokens: 30_000, output_tokens: 1200 }
    // 10,000 × 2.5 + 30,000 × 1.25 + 1,200 × 10, for a million each; the discount is on the call alone.
    expect(numbers(chargeOf({ ...rates, llm }, figures(60, { llm: tokens, llm_discount: 0.5 })))).toMatchObject({
      call_cost: 0.08,
      llm_cost: 0.0745,
      llm_discount: 0.04,
      total_cost: 0.1145
    })
    expect(numbers(chargeOf(rates, figures(60, { llm: tokens })))).toMatchObject({ llm_cost: 0, total_cost: 0.08 })
    for (const bad of [-1, Number.NaN, Number.NEGATIVE_INFINITY]) {
      const none = { input_tokens: bad, cached_input_tokens: bad, output_tokens: bad }
      expect(numbers(chargeOf({ ...rates, llm }, figures(60, { llm: none })))).toMatchObject({ llm_cost: 0 })
    }
    // More cached tokens than tokens, and more than any call has.
    const huge = { input_tokens: 1000, cached_input_tokens: 5000, output_tokens: Number.POSITIVE_INFINITY }
    expect(numbers(chargeOf({ ...rates, llm }, figures(0, { llm: huge })))).toMatchObject({ llm_cost: 10_000.0013 })
  })

  it("charges nothing for a negative figure or NaN, and limits too large ones", () => {
    for (const bad of [-1, -0, Number.NaN, Number.NEGATIVE_INFINITY]) {
      const charge = chargeOf(rates, figures(bad, { recording_seconds: bad, transfer_seconds: bad, llm_discount: bad }))
      expect(numbers(charge)).toMatchObject({ minutes_used: 0, total_cost: 0, llm_discount: 0 })
    }
    for (const huge of [1e9, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      // 30 days.
      expect(numbers(chargeOf(rates, figures(huge)))).toMatchObject({ minutes_used: 43_200 })
      expect(numbers(chargeOf(rates, figures(60, { llm_discount: huge })))).toMatchObject({ total_cost: 0 })
    }
  })

  it("charges nothing at free rates, and still returns minutes_used", () => {
    expect(numbers(chargeOf(freeRates, figures(30, { recording_seconds: 30 })))).toMatchObject({
      minutes_used: 0.5,
      total_cost: 0
    })
  })

  it("total_cost is the sum of its parts, and roundings do not add up to a cent over 10,000 calls", () => {
    const cents = (amount: BigDecimal.BigDecimal) => BigDecimal.unsafeToNumber(amount) * 100
    const anyRate = fc.integer({ min: 0, max: 5_000 }).map((n) => BigDecimal.make(BigInt(n), 4))
    const anyRates = fc.record({
      call: anyRate,
      recording: anyRate,
      transfer: anyRate,
      llm: fc.record({ input: anyRate, cached_input: anyRate, output: anyRate })
    })
    const tokens = fc.integer({ min: 0, max: 2_000_000 })
    const anyFigures = fc.record({
      seconds: fc.integer({ min: 0, max: 7200 }),
      recording_seconds: fc.integer({ min: 0, max: 7200 }),
      transfer_seconds: fc.integer({ min: 0, max: 7200 }),
      llm_discount: fc.constantFrom(0, 0.1, 0.333333, 1),
      llm: fc.record({ input_tokens: tokens, cached_input_tokens: tokens, output_tokens: tokens })
    })
    fc.assert(
      fc.property(anyRates, fc.array(anyFigures, { minLength: 1_000, maxLength: 1_000 }), (some, calls) => {
        let exact = 0
        let booked = eur("0")
        for (const used of calls) {
          const charge = chargeOf(some, used)
          const parts = [
            charge.call_cost,
            charge.recording_cost,
            charge.transfer_cost,
            charge.llm_cost,
            BigDecimal.negate(charge.llm_discount)
          ]
          // Each part has 4 decimals, and the total is their sum.
          for (const part of parts) expect(BigDecimal.equals(part, BigDecimal.round(part, { scale: 4 }))).toBe(true)
          expect(BigDecimal.equals(charge.total_cost, BigDecimal.sumAll(parts))).toBe(true)
          booked = BigDecimal.sum(booked, charge.total_cost)
          const rate = (of: BigDecimal.BigDecimal) => BigDecimal.unsafeToNumber(of)
          // From the rounded minutes.
          const minutes = (seconds: number) => Math.round((seconds * 10_000) / 60) / 10_000
          exact += minutes(used.seconds) * rate(some.call) * (1 - used.llm_discount)
          exact += Math.ceil(used.recording_seconds / 60) * rate(some.recording)
          exact += minutes(used.transfer_seconds) * rate(some.transfer)
          const cached = Math.min(used.llm.input_tokens, used.llm.cached_input_tokens)
          exact += ((used.llm.input_tokens - cached) * rate(some.llm.input)) / 1e6
          exact += (cached * rate(some.llm.cached_input) + used.llm.output_tokens * rate(some.llm.output)) / 1e6
        }
        // Ten runs of 1,000. Rounding errors are unbiased: far below a cent per thousand calls.
        expect(Math.abs(cents(booked) - exact * 100)).toBeLessThan(1)
      }),
      { numRuns: 10, seed: 11 }
    )
  })
})

describe("Rates", () => {
  const read = (settings: Readonly<Record<string, string>>) =>
    Effect.provide(Rates, Rates.layer).pipe(
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings)))),
      Effect.map((all) => all)
    )

  it.effect("are 0 for enterprise and lower the higher the tier, unless configured", () =>
    Effect.gen(function* () {
      const byDefault = yield* read({ SVC_RATE_CALL_PER_MINUTE_PAYG: "" })
      const calls = (["payg", "starter", "growth", "scale", "enterprise"] as const).map((tier) =>
        BigDecimal.unsafeToNumber(byDefault.of(tier).call)
      )
      expect(calls).toEqual([0.12, 0.1, 0.08, 0.06, 0])
      const configured = yield* read({ SVC_RATE_RECORDING_PER_MINUTE_ENTERPRISE: " 0.0125 " })
      expect(BigDecimal.format(configured.of("enterprise").recording)).toBe("0.0125")
    })
  )

  it.effect("of tokens are 0 unless configured; cached ones cost as others unless they have a rate", () =>
    Effect.gen(function* () {
      const tokens = (settings: Readonly<Record<string, string>>) =>
        Effect.map(read(settings), (all) => Object.values(all.of("growth").llm).map(BigDecimal.unsafeToNumber))
      expect(yield* tokens({})).toEqual([0, 0, 0])
      const given = { SVC_RATE_LLM_INPUT_PER_MILLION_GROWTH: "2.5", SVC_RATE_LLM_OUTPUT_PER_MILLION_GROWTH: "10" }
      expect(yield* tokens(given)).toEqual([2.5, 2.5, 10])
      expect(yield* tokens({ ...given, SVC_RATE_LLM_CACHED_INPUT_PER_MILLION_GROWTH: "0" })).toEqual([2.5, 0, 10])
    })
  )

  it.effect("that are invalid fail with an error that names the variable", () =>
    Effect.gen(function* () {
      for (const bad of ["free", "-0.1", "0.00001", "1e1", "0,12", "10000", "Infinity", "NaN", "0x1"]) {
        for (const name of [
          "SVC_RATE_TRANSFER_PER_MINUTE_SCALE",
          "SVC_RATE_SMS_SCALE",
          "SVC_RATE_LLM_CACHED_INPUT_PER_MILLION_SCALE"
        ]) {
          const error = yield* Effect.flip(read({ [name]: bad }))
          expect(String(error)).toContain(name)
        }
      }
    })
  )
})
