import { frameLength } from "./BandSplitter.ts"

const telephoneRate = 8000
/** The low pass before samples are dropped: its cutoff in Hz, and taps per sample that is kept. */
const cutoff = 3600
const tapsPerFactor = 8

/** The first half of the taps: the other half has the same ones in the opposite order. */
const lowPass = (factor: number): Float64Array => {
  const middle = (factor * tapsPerFactor - 1) / 2
  const taps = Float64Array.from({ length: factor * tapsPerFactor }, (_, i) => {
    const x = (2 * Math.PI * cutoff * (i - middle)) / (telephoneRate * factor)
    return (Math.sin(x) / x) * (0.54 + 0.46 * Math.cos((Math.PI * (i - middle)) / (middle + 1)))
  })
  const sum = taps.reduce((total, tap) => total + tap, 0)
  return taps.map((tap) => tap / sum).subarray(0, taps.length / 2)
}

/** Input samples that are filtered at once. */
const block = 1024

const rounded = (sample: number): number =>
  sample >= 32_767 ? 32_767 : sample <= -32_768 ? -32_768 : Math.floor(sample + 0.5)

/** The input of the filter with its block, and what is kept of it. All use the same, which stays in the processor's cache. */
let input = new Float64Array()
const kept = new Int16Array(block)

/** Filters the input from `at` on, and keeps `count` samples, one of `factor`. */
const decimate = (at: number, factor: number, taps: Float64Array, count: number): void => {
  const x = input
  const half = taps.length
  const last = 2 * half - 1
  for (let n = 0, from = at; n < count; n++, from += factor) {
    let sum = 0
    for (let i = 0; i < half; i++) sum += (taps[i] ?? 0) * ((x[from + i] ?? 0) + (x[from + last - i] ?? 0))
    kept[n] = rounded(sum)
  }
}

/**
 * The same for 16 kHz, by far the most frequent case. The loop over the taps would take longer than the sums. The last 14
 * samples are variables, so that each is read from the array once instead of eight times.
 */
const halve = (at: number, taps: Float64Array, count: number): void => {
  const x = input
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = taps
  let x0 = x[at] ?? 0
  let x1 = x[at + 1] ?? 0
  let x2 = x[at + 2] ?? 0
  let x3 = x[at + 3] ?? 0
  let x4 = x[at + 4] ?? 0
  let x5 = x[at + 5] ?? 0
  let x6 = x[at + 6] ?? 0
  let x7 = x[at + 7] ?? 0
  let x8 = x[at + 8] ?? 0
  let x9 = x[at + 9] ?? 0
  let x10 = x[at + 10] ?? 0
  let x11 = x[at + 11] ?? 0
  let x12 = x[at + 12] ?? 0
  let x13 = x[at + 13] ?? 0
  for (let n = 0, i = at + 14; n < count; n++, i += 2) {
    const x14 = x[i] ?? 0
    const x15 = x[i + 1] ?? 0
    const outer = a * (x0 + x15) + b * (x1 + x14)
    const next = c * (x2 + x13) + d * (x3 + x12)
    const inner = e * (x4 + x11) + f * (x5 + x10)
    const middle = g * (x6 + x9) + h * (x7 + x8)
    kept[n] = rounded(outer + next + inner + middle)
    x0 = x2
    x1 = x3
    x2 = x4
    x3 = x5
    x4 = x6
    x5 = x7
    x6 = x8
    x7 = x9
    x8 = x10
    x9 = x11
    x10 = x12
    x11 = x13
    x12 = x14
    x13 = x15
  }
}

/** Cuts audio in chunks of any size into frames of 20 ms at 8 kHz. A chunk that is such a frame is not copied. */
export class TelephoneRate {
  readonly #factor: number
  readonly #taps: Float64Array
  /** The samples before the next block that the filter still needs. */
  readonly #past: Float64Array
  /** Input samples before the next one that is kept. */
  #skip: number
  readonly #frame = new Int16Array(frameLength)
  #count = 0

  /** `sampleRate` in Hz, a multiple of 8000. */
  constructor(sampleRate: number) {
    const factor = sampleRate / telephoneRate
    if (!Number.isInteger(factor) || factor < 1) {
      throw new RangeError(
        `voice activity needs a sample rate that is a multiple of ${telephoneRate} Hz, not ${sampleRate}`
      )
    }
    this.#factor = factor
    this.#taps = factor === 1 ? new Float64Array() : lowPass(factor)
    this.#past = new Float64Array(factor === 1 ? 0 : 2 * this.#taps.length - 1)
    if (input.length < this.#past.length + block) input = new Float64Array(this.#past.length + block)
    this.#skip = factor - 1
  }

  /** Calls `take` for each frame that is complete; the array is valid only during the call. */
  push(chunk: Int16Array, take: (frame: Int16Array) => void): void {
    if (this.#factor > 1) {
      for (let at = 0; at < chunk.length; at += block) {
        this.#cut(kept, this.#filter(chunk, at, Math.min(chunk.length, at + block)), take)
      }
    } else if (this.#count === 0 && chunk.length === frameLength) take(chunk)
    else this.#cut(chunk, chunk.length, take)
  }

  /** Cuts the first `length` samples into frames. */
  #cut(samples: Int16Array, length: number, take: (frame: Int16Array) => void): void {
    for (let at = 0; at < length; ) {
      const some = Math.min(length - at, frameLength - this.#count)
      this.#frame.set(samples.subarray(at, at + some), this.#count)
      this.#count += some
      at += some
      if (this.#count < frameLength) return
      this.#count = 0
      take(this.#frame)
    }
  }

  /** Filters a block of the chunk and keeps every one of `factor` samples. Returns how many. */
  #filter(chunk: Int16Array, from: number, to: number): number {
    const factor = this.#factor
    const past = this.#past
    const count = to - from
    input.set(past)
    input.set(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to), past.length)
    const n = Math.ceil((count - this.#skip) / factor)
    if (factor === 2) halve(this.#skip, this.#taps, n)
    else decimate(this.#skip, factor, this.#taps, n)
    this.#skip += n * factor - count
    for (let i = 0; i < past.length; i++) past[i] = input[count + i] ?? 0
    return n
  }
}
