/** The part of the path that is modelled, in ms: before the delay that was found, and in all. */
const leadMs = 1.5
const lengthMs = 6
/** What remains of the statistics after each frame: half after 1 s. */
const forget = 0.986
/** Frames after which the filter is computed again. */
const solveEvery = 5
/** Added to the energy, as a share: keeps the filter small where little is known, as between the tones of a signal. */
const regularization = 0.01
/** No echo is louder than what was sent by more than this, as a sum of squared weights: 6 dB. */
const mostGain = 4

/**
 * The path of an echo with a known delay, as a short filter: the least squares solution over the last second in which
 * only the echo was heard.
 */
export class EchoFilter {
  readonly #taps: number
  readonly #lead: number
  readonly #weights: Float64Array
  /** Of what was sent with itself and with what was heard, by lag. */
  readonly #own: Float64Array
  readonly #cross: Float64Array
  readonly #forward: Float64Array
  readonly #solution: Float64Array
  #learned = 0

  constructor(sampleRate: number) {
    this.#taps = Math.round((lengthMs * sampleRate) / 1000)
    this.#lead = Math.round((leadMs * sampleRate) / 1000)
    this.#weights = new Float64Array(this.#taps)
    this.#own = new Float64Array(this.#taps)
    this.#cross = new Float64Array(this.#taps)
    this.#forward = new Float64Array(this.#taps)
    this.#solution = new Float64Array(this.#taps)
  }

  reset(): void {
    for (const values of [this.#weights, this.#own, this.#cross]) values.fill(0)
    this.#learned = 0
  }

  /** The echo of the sample at `at` in the ring of what was sent, which is `mask` + 1 long, `delay` samples later. */
  echo(sent: Float32Array, mask: number, at: number, delay: number): number {
    let echo = 0
    const first = at - delay + this.#lead + mask + 1
    for (let tap = 0; tap < this.#taps; tap++) echo += (this.#weights[tap] ?? 0) * (sent[(first - tap) & mask] ?? 0)
    return echo
  }

  /** Learns from a frame in which only the echo was heard, and whose first sample is at `at` of the ring. */
  learn(heard: Int16Array, sent: Float32Array, mask: number, at: number, delay: number): void {
    const first = at - delay + this.#lead + 2 * (mask + 1)
    for (let lag = 0; lag < this.#taps; lag++) {
      let own = 0
      let cross = 0
      for (let n = 0; n < heard.length; n++) {
        const before = sent[(first + n - lag) & mask] ?? 0
        own += (sent[(first + n) & mask] ?? 0) * before
        cross += (heard[n] ?? 0) * before
      }
      this.#own[lag] = (this.#own[lag] ?? 0) * forget + own
      this.#cross[lag] = (this.#cross[lag] ?? 0) * forget + cross
    }
    if (++this.#learned % solveEvery === 0) this.#solve()
  }

  /** Levinson's recursion for a symmetric Toeplitz matrix and any right side (Golub and Van Loan, Matrix Computations, 4.7). */
  #solve(): void {
    const energy = (this.#own[0] ?? 0) * (1 + regularization)
    if (energy <= 0) return
    const own = (lag: number) => (this.#own[lag] ?? 0) / energy
    const cross = (lag: number) => (this.#cross[lag] ?? 0) / energy
    const x = this.#solution
    const y = this.#forward
    x[0] = cross(0)
    y[0] = -own(1)
    let alpha = -own(1)
    let beta = 1
    for (let k = 1; k < this.#taps; k++) {
      beta *= 1 - alpha * alpha
      if (beta < 1e-9) return
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
    let gain = 0
    for (const weight of x) gain += weight * weight
    if (gain <= mostGain) this.#weights.set(x)
  }
}
