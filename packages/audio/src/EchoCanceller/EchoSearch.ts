import { CrossCorrelation } from "./CrossCorrelation.ts"
import { heardLateMs, type SoundsUntil } from "./SoundHistory.ts"

/** Both sounds are compared at 4 kHz: 500 ms at most. */
const comparedRate = 4000
const longest = 2000
/** The longest delay of an echo in the history, in ms and in samples at 4 kHz. */
export const longestDelayMs = 600 + heardLateMs
const longestDelay = (longestDelayMs * comparedRate) / 1000

/** The delay is refined over so much sound, in ms. */
const refinedMs = 200

/** What was heard, and what was sent from the longest delay before it on. Used in one search at a time. */
const heard = new Float32Array(longest)
const sent = new Float32Array(longest + longestDelay)

/** By their sizes: for 200 ms of sound near a known delay and at all delays, and for all else. */
const correlations = [2048, 4096, 8192].map((size) => ({ size, correlation: new CrossCorrelation(size) }))

/** How much of what was heard is an echo, from 0 to 1, and its delay in samples of the history. */
export interface EchoMatch {
  readonly likeness: number
  readonly delay: number
}

/** There is no echo, or none was searched. */
export const noMatch: EchoMatch = { likeness: 0, delay: 0 }

/**
 * Finds the delay, from `least` to `most` ms, with which the last `ms` that were heard, 500 at most, are most like what was
 * sent: the largest normalized cross-correlation. An echo together with a caller of the same level gives about 0.7.
 */
export const searchEcho = (history: SoundsUntil, ms: number, least = 0, most = longestDelayMs): EchoMatch => {
  const step = Math.round((history.samplesPerMs * 1000) / comparedRate)
  const length = Math.min(longest, Math.round((ms * comparedRate) / 1000))
  const first = Math.max(0, Math.round((least * comparedRate) / 1000))
  const last = Math.min(longestDelay, Math.round((most * comparedRate) / 1000))
  fill(heard, history.heard, history, length, step)
  fill(sent, history.sent, history, length + last, step)
  let energy = 0
  let sentEnergy = 0
  for (let i = 0; i < length; i++) {
    energy += (heard[i] ?? 0) ** 2
    sentEnergy += (sent[i + last - first] ?? 0) ** 2
  }
  const compared = length + last - first
  const products = correlations.find(({ size }) => size >= compared)?.correlation.of(heard, length, sent, compared)
  if (products === undefined) return noMatch
  let likeness = 0
  let best = first
  for (let delay = first; delay <= last; delay++) {
    const from = last - delay
    if (delay > first) sentEnergy += (sent[from] ?? 0) ** 2 - (sent[from + length] ?? 0) ** 2
    // Nothing was sent then.
    if (sentEnergy <= length) continue
    const found = Math.abs(products[from] ?? 0) / Math.sqrt(energy * sentEnergy + 1)
    if (found <= likeness) continue
    likeness = found
    best = delay
  }
  return likeness === 0 ? noMatch : { likeness, delay: refined(history, ms, best * step, step) }
}

/** Sums every `step` samples of the ring, so that the last `count` sums end where it ends. */
const fill = (out: Float32Array, ring: Int16Array, { end, mask }: SoundsUntil, count: number, step: number): void => {
  let at = end - count * step
  for (let i = 0; i < count; i++) {
    let sum = 0
    for (let n = 0; n < step; n++) sum += ring[at++ & mask] ?? 0
    out[i] = sum
  }
}

/** The delay near a found one with the largest correlation at the full sample rate. */
const refined = (history: SoundsUntil, ms: number, delay: number, step: number): number => {
  const { end, heard, mask, sent } = history
  const from = end - Math.min(ms, refinedMs) * history.samplesPerMs
  let most = -1
  let best = delay
  for (let candidate = Math.max(0, delay - step); candidate <= delay + step; candidate++) {
    let product = 0
    for (let at = from; at < end; at++) product += (heard[at & mask] ?? 0) * (sent[(at - candidate) & mask] ?? 0)
    if (Math.abs(product) <= most) continue
    most = Math.abs(product)
    best = candidate
  }
  return best
}
