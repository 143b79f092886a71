import { nearest } from "./Rounding.ts"

/**
 * Converts a stream of PCM16 from one sample rate to another: a low-pass filter (windowed sinc) that is evaluated only at
 * the times of the output. Chunks of any length give the same samples as the whole stream at once.
 */

/** Zero crossings of the sinc on each side: more are steeper, and cost more. */
const zeroCrossings = 12
/** The cut-off relative to half of the lower rate. */
const passband = 0.92
/** The shape of the Kaiser window; 8 puts images and aliases about 80 dB down. */
const kaiserBeta = 8

/** The modified Bessel function of the first kind, order 0. */
const bessel0 = (x: number): number => {
  let sum = 1
  let term = 1
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** A filter for one pair of rates, shared by all its resamplers. */
interface Filter {
  /** Output sample n is at `n * step / phases` in input samples. */
  readonly phases: number
  readonly step: number
  /** Input samples on each side of an output sample. */
  readonly half: number
  /** `2 * half` coefficients for each phase. */
  readonly coefficients: Float32Array
}

const makeFilter = (from: number, to: number): Filter => {
  const common = gcd(from, to)
  const phases = to / common
  const cutoff = Math.min(1, to / from) * passband
  const half = Math.ceil(zeroCrossings / Math.min(1, to / from))
  const taps = 2 * half
  const coefficients = new Float32Array(phases * taps)
  for (let phase = 0; phase < phases; phase++) {
    let sum = 0
    const row: Array<number> = []
    for (let tap = 0; tap < taps; tap++) {
      const distance = tap - half + 1 - phase / phases
      const x = Math.PI * cutoff * distance
      const sinc = x === 0 ? 1 : Math.sin(x) / x
      const inside = Math.max(0, 1 - (distance / half) ** 2)
      const coefficient = sinc * bessel0(kaiserBeta * Math.sqrt(inside))
      row.push(coefficient)
      sum += coefficient
    }
    for (const [tap, coefficient] of row.entries()) coefficients[phase * taps + tap] = coefficient / sum
  }
  return { phases, step: from / common, half, coefficients }
}

const filters = new Map<string, Filter>()

const filterOf = (from: number, to: number): Filter => {
  const key = `${from} ${to}`
  const known = filters.get(key)
  if (known !== undefined) return known
  const made = makeFilter(from, to)
  filters.set(key, made)
  return made
}

/** One direction of one stream. Rates in Hz, whole numbers. Delays by 1.5 ms of the lower rate's time. */
export class Resampler {
  private readonly filter: Filter
  /** Input samples that outputs still need, after zeros for the time before the stream. */
  private held: Float32Array
  private count: number
  /** The first sample of `held` that the next output uses, and its phase. */
  private at = 0
  private phase = 0

  constructor(from: number, to: number) {
    this.filter = filterOf(from, to)
    this.held = new Float32Array(2 * this.filter.half + 1024)
    this.count = this.filter.half - 1
  }

  /** The samples that can be computed with this input. */
  push(input: Int16Array): Int16Array {
    this.append(input)
    return this.drain()
  }

  /** The rest, at the end of the stream: together with the samples before as long as the input. */
  end(): Int16Array {
    this.append(new Int16Array(this.filter.half))
    return this.drain()
  }

  private append(input: Int16Array): void {
    const length = this.count + input.length
    if (length > this.held.length) {
      const larger = new Float32Array(length * 2)
      larger.set(this.held.subarray(0, this.count))
      this.held = larger
    }
    this.held.set(input, this.count)
    this.count = length
  }

  private drain(): Int16Array {
    const { coefficients, half, phases, step } = this.filter
    const taps = 2 * half
    const { count, held } = this
    const available = count - taps - this.at
    const outputs = available < 0 ? 0 : Math.floor((available * phases + phases - 1 - this.phase) / step) + 1
    const output = new Int16Array(outputs)
    let { at, phase } = this
    for (let n = 0; n < outputs; n++) {
      const row = phase * taps
      let sum = 0
      for (let tap = 0; tap < taps; tap++) sum += (coefficients[row + tap] ?? 0) * (held[at + tap] ?? 0)
      output[n] = Math.max(-32_768, Math.min(32_767, nearest(sum)))
      phase += step
      at += Math.floor(phase / phases)
      phase %= phases
    }
    held.copyWithin(0, at, count)
    this.count = Math.max(0, count - at)
    this.at = Math.max(0, at - count)
    this.phase = phase
    return output
  }
}

/** The rate to use with a provider that has these: the call's own, else the next higher one, else the highest. */
export const nearestRate = (own: number, rates: ReadonlyArray<number>): number => {
  if (rates.length === 0 || rates.includes(own)) return own
  const higher = rates.filter((rate) => rate > own)
  return higher.length > 0 ? Math.min(...higher) : Math.max(...rates)
}
