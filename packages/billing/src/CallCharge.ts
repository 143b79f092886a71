import { BigDecimal } from "effect"
import { round4, zero } from "./Money.ts"
import type { RatesOfTier } from "./Rates.ts"

/** What a call has used. Seconds are whole; others are rounded. */
export interface CallFigures {
  /** From its answer to its end; 0 when it was not answered. */
  readonly seconds: number
  /** Length of its recording; 0 without one. */
  readonly recording_seconds: number
  /** With the party it was transferred to. */
  readonly transfer_seconds: number
  /** The part of the call's cost that the language model's plugin takes off, 0 to 1. */
  readonly llm_discount: number
}

/** What a call costs (spec 2.6), in EUR, each with at limit 4 decimals. */
export interface CallCharge {
  readonly minutes_used: BigDecimal.BigDecimal
  readonly rate_per_minute: BigDecimal.BigDecimal
  readonly call_cost: BigDecimal.BigDecimal
  readonly recording_cost: BigDecimal.BigDecimal
  readonly transfer_cost: BigDecimal.BigDecimal
  readonly llm_discount: BigDecimal.BigDecimal
  /** Call, recording and transfer, less the discount. */
  readonly total_cost: BigDecimal.BigDecimal
}

/** Far more than any call lasts; what is beyond is a fault of a clock, and not charged. */
const longest = 30 * 86_400

/** A figure that a clock or a plugin got wrong costs nothing rather than everything. */
const clamp = (value: number, limit: number): number => (value > 0 ? Math.min(value, limit) : 0)

/** Whole seconds in minutes, to 4 decimals. */
const minutes = (seconds: number): BigDecimal.BigDecimal =>
  BigDecimal.make(BigInt(Math.round((Math.round(clamp(seconds, longest)) * 10_000) / 60)), 4)

const times = (a: BigDecimal.BigDecimal, b: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  round4(BigDecimal.multiply(a, b))

/**
 * What a call costs by decisions §4.10: per second, with the minutes rounded to 4 decimals first; the recording per
 * started minute; the discount on the call alone.
 */
export const chargeOf = (rates: RatesOfTier, figures: CallFigures): CallCharge => {
  const minutes_used = minutes(figures.seconds)
  const call_cost = times(minutes_used, rates.call)
  const startedMinutes = Math.ceil(clamp(figures.recording_seconds, longest) / 60)
  const recording_cost = times(BigDecimal.make(BigInt(startedMinutes), 0), rates.recording)
  const transfer_cost = times(minutes(figures.transfer_seconds), rates.transfer)
  const share = BigDecimal.make(BigInt(Math.round(clamp(figures.llm_discount, 1) * 1_000_000)), 6)
  const llm_discount = times(call_cost, share)
  return {
    minutes_used,
    rate_per_minute: rates.call,
    call_cost,
    recording_cost,
    transfer_cost,
    llm_discount,
    total_cost: BigDecimal.subtract(BigDecimal.sumAll([call_cost, recording_cost, transfer_cost]), llm_discount)
  }
}

/** Of a call that holds nothing. */
export const freeRates: RatesOfTier = { call: zero, recording: zero, transfer: zero }
