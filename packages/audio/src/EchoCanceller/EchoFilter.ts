import type { SoundHistory } from "./SoundHistory.ts"

/** The part of the path that is modelled, in ms: before the delay that was found, and in all. */
const leadMs = 1.5
const lengthMs = 6
/** What remains of the statistics after each frame that is learned from: half after 1 s. */
const forget = 0.986
/** Frames after which the filter is computed again, and samples that make a frame. */
const solveEvery = 5
const frameMs = 20
/**
 * Added to the energy, as a share: how far the filter stays from a mere delay where little is known, as between the tones of a
 * signal. At last, and the more the fewer frames it has learned from.
 */
const regularization = 0.01
const regularizationOfOne = 0.5
/** No echo is louder than what was sent by more than this, as a sum of squared weights: 6 dB. */
const mostGain = 4

/**
 * The path of an echo with a known delay, as a short filter: a delay with a gain, and what the least squares solution over
 * the last second in which only the echo was heard adds to it.
 */
export class EchoFilter {
  readonly #history: SoundHistory
  readonly #taps: number
  readonly #lead: number
  readonly #weights: Float64Array
  /** Of what was sent with itself and with what was heard, by lag. */
  readonly #own: Float64Array
  readonly #cross: Float64Array
  readonly #forward: Float64Array
  readonly #solution: Float64Array
  /** What was sent around a frame, in order. */
  readonly #recent: Float64Array
  #learned = 0
  /** The delay in samples; -1: not known. */
  delay = -1
  /** The sum of the squared weights: the energy of an echo of white noise, as a share. */
  gain = 0

  constructor(history: SoundHistory) {
    const { samplesPerMs } = history
    this.#history = history
    this.#taps = Math.round(lengthMs * samplesPerMs)
    this.#lead = Math.round(leadMs * samplesPerMs)
    this.#weights = new Float64Array(this.#taps)
    this.#own = new Float64Array(this.#taps)
    this.#cross = new Float64Array(this.#taps)
    this.#forward = new Float64Array(this.#taps)
    this.#solution = new Float64Array(this.#taps)
    this.#recent = new Float64Array(frameMs * samplesPerMs + this.#taps)
  }

  /** Forgets the path; `delay` is that of the new one. */
  reset(delay: number): void {
    this.delay = delay
    this.gain = 0
    this.#learned = 0
    for (const values of [this.#weights, this.#own, this.#cross]) values.fill(0)
  }

  /** Writes the 20 ms from position `from` without their echo, unrounded; returns what remains of the energy. */
  subtract(from: number, out: Float64Array): number {
    const { heard, mask } = this.#history
    this.#recall(from)
    const recent = this.#recent
    const weights = this.#weights
    const taps = this.#taps
    let left = 0
    for (let n = 0; n < out.length; n++) {
      let echo = 0
      for (let tap = 0, at = n + taps; tap < taps; tap++, at--)
        echo += (weights[tap] as number) * (recent[at] as number)
      const sample = (heard[(from + n) & mask] ?? 0) - echo
      out[n] = sample
      left += sample * sample
    }
    return left
  }

  /** Learns from the 20 ms from position `from`, in which only the echo was heard. */
  learn(from: number): void {
    const { heard, mask, samplesPerMs } = this.#history
    const length = frameMs * samplesPerMs
    this.#recall(from)
    const recent = this.#recent
    const taps = this.#taps
    for (let lag = 0; lag < taps; lag++) {
      let own = 0
      let cross = 0
      for (let n = 0; n < length; n++) {
        const before = recent[n + taps - lag] as number
        own += (recent[n + taps] as number) * before
        cross += (heard[(from + n) & mask] as number) * before
      }
      this.#own[lag] = (this.#own[lag] ?? 0) * forget + own
      this.#cross[lag] = (this.#cross[lag] ?? 0) * forget + cross
    }
    if (++this.#learned % solveEvery === 0) this.#solve()
  }

  /** Copies what was sent so much earlier that it is heard in the 20 ms from position `from`. */
  #recall(from: number): void {
    const { mask, sent } = this.#history
    const first = from - this.delay + this.#lead - this.#taps
    for (let n = 0; n < this.#recent.length; n++) this.#recent[n] = sent[(first + n) & mask] ?? 0
  }

  /** Levinson's recursion for a symmetric Toeplitz matrix and any right side (Golub and Van Loan, Matrix Computations, 4.7). */
  #solve(): void {
    const total = this.#own[0] ?? 0
    const energy = total * (1 + regularization + regularizationOfOne / this.#learned)
    if (energy <= 0) return
    const lead = this.#lead
    const direct = (this.#cross[lead] ?? 0) / total
    const own = (lag: number) => (this.#own[lag] ?? 0) / energy
    const cross = (lag: number) => ((this.#cross[lag] ?? 0) - direct * (this.#own[Math.abs(lag - lead)] ?? 0)) / energy
    const x = this.#solution
    const y = this.#forward
    x[0] = cross(0)
    y[0] = -own(1)
    let alpha = -own(1)
    let beta = 1
    for (let k = 1; k < this.#taps; k++) {
      beta *= 1 - alpha * alpha
      if (beta < 1e-9) {
        this.#set(direct, undefined)
        return
      }
      let product = 0
      for (let i = 0; i < k; i++) product += own(k - i) * (x[i] ?? 0)
      const mu = (cross(k) - product) / beta
      for (let i = 0; i < k; i++) x[i] = (x[i] ?? 0) + mu * (y[k - 1 - i] ?? 0)
      x[k] = mu
      if (k === this.#taps - 1) break
      let next = own(k + 1)
      for (let i = 0; i < k; i++) next += own(k - i) * (y[i] ?? 0)
      alpha = -next / beta
      for (let i = 0; i < k / 2; i++) {
        const [a, b] = [y[i] ?? 0, y[k - 1 - i] ?? 0]
        y[i] = a + alpha * b
        y[k - 1 - i] = b + alpha * a
      }
      y[k] = alpha
    }
    this.#set(direct, x)
  }

  /** The filter is a delay with a gain, and `more`, unless that makes an echo louder than what was sent. */
  #set(direct: number, more: Float64Array | undefined): void {
    let gain = 0
    for (let tap = 0; tap < this.#taps; tap++) {
      const weight = (tap === this.#lead ? direct : 0) + (more?.[tap] ?? 0)
      this.#weights[tap] = weight
      gain += weight * weight
    }
    if (gain > mostGain && more !== undefined)
      this.#set(Math.sign(direct) * Math.min(Math.sqrt(mostGain), Math.abs(direct)), undefined)
    else this.gain = gain
  }
}
