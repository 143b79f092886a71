import { round4 } from "@svc/api/Money"
import { BigDecimal } from "effect"
import { zero } from "./Money.ts"
import type { RatesOfTier } from "./Rates.ts"

/** The usage of a call. Fractions of seconds are rounded. */
export interface CallFigures {
  /** From answer to end; 0 when the call was not answered. */
  readonly seconds: number
  /** Length of the recording; 0 without one. */
  readonly recording_seconds: number
  /** While the caller was connected to the transfer's destination. */
  readonly transfer_seconds: number
  /** The share of the call's cost, 0 to 1, that the language model's plugin deducts. */
  readonly llm_discount: number
  /** Tokens of the language models; `cached_input_tokens` are part of `input_tokens`. */
  readonly llm: {
    readonly input_tokens: number
    readonly cached_input_tokens: number
    readonly output_tokens: number
  }
}

/** The cost of a call in EUR, each part with at most 4 decimals (docs/reference/billing.md). */
export interface CallCharge {
  readonly minutes_used: BigDecimal.BigDecimal
  readonly rate_per_minute: BigDecimal.BigDecimal
  readonly call_cost: BigDecimal.BigDecimal
  readonly recording_cost: BigDecimal.BigDecimal
  readonly transfer_cost: BigDecimal.BigDecimal
  readonly llm_discount: BigDecimal.BigDecimal
  readonly llm_cost: BigDecimal.BigDecimal
  /** Call, recording, transfer and models minus the discount. */
  readonly total_cost: BigDecimal.BigDecimal
}

/** Longer than any call, in seconds: a longer figure is a clock fault, and is cut to this. */
const maxSeconds = 30 * 86_400

/** A negative or invalid figure from a clock or a plugin costs nothing. */
const clamp = (value: number, limit: number): number => (value > 0 ? Math.min(value, limit) : 0)

/** Whole seconds in minutes, to 4 decimals. */
const minutes = (seconds: number): BigDecimal.BigDecimal =>
  BigDecimal.make(BigInt(Math.round((Math.round(clamp(seconds, maxSeconds)) * 10_000) / 60)), 4)

const multiply = (a: BigDecimal.BigDecimal, b: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  round4(BigDecimal.multiply(a, b))

/** More tokens than any call has: a larger figure is a fault of a plugin, and is cut to this. */
const maxTokens = 1e9

const perMillion = BigDecimal.make(1n, 6)

/** Tokens at their rates, rounded once. */
const llmCost = ({ llm: rates }: RatesOfTier, { llm }: CallFigures): BigDecimal.BigDecimal => {
  const input = Math.round(clamp(llm.input_tokens, maxTokens))
  const cached = Math.min(input, Math.round(clamp(llm.cached_input_tokens, maxTokens)))
  const output = Math.round(clamp(llm.output_tokens, maxTokens))
  const cost = (tokens: number, rate: BigDecimal.BigDecimal) =>
    BigDecimal.multiply(BigDecimal.multiply(BigDecimal.make(BigInt(tokens), 0), rate), perMillion)
  return round4(
    BigDecimal.sumAll([cost(input - cached, rates.input), cost(cached, rates.cached_input), cost(output, rates.output)])
  )
}

/**
 * The call and its transfer are charged per second, with the minutes rounded to 4 decimals first; the recording per
 * started minute; the models by their tokens; the discount applies to the call alone.
 */
export const chargeOf = (rates: RatesOfTier, figures: CallFigures): CallCharge => {
  const minutes_used = minutes(figures.seconds)
  const call_cost = multiply(minutes_used, rates.call)
  const startedMinutes = Math.ceil(clamp(figures.recording_seconds, maxSeconds) / 60)
  const recording_cost = multiply(BigDecimal.make(BigInt(startedMinutes), 0), rates.recording)
  const transfer_cost = multiply(minutes(figures.transfer_seconds), rates.transfer)
  const llm_cost = llmCost(rates, figures)
  const share = BigDecimal.make(BigInt(Math.round(clamp(figures.llm_discount, 1) * 1_000_000)), 6)
  const llm_discount = multiply(call_cost, share)
  return {
    minutes_used,
    rate_per_minute: rates.call,
    call_cost,
    recording_cost,
    transfer_cost,
    llm_discount,
    llm_cost,
    total_cost: BigDecimal.subtract(
      BigDecimal.sumAll([call_cost, recording_cost, transfer_cost, llm_cost]),
      llm_discount
    )
  }
}

/** The rates of a call without a hold. */
export const freeRates: RatesOfTier = {
  call: zero,
  recording: zero,
  transfer: zero,
  llm: { input: zero, cached_input: zero, output: zero }
}
