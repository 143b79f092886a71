import { frameLength } from "./BandSplitter.ts"

const telephoneRate = 8000
/** The low pass before samples are dropped: its cutoff in Hz, and taps per sample that is kept. */
const cutoff = 3600
const tapsPerFactor = 8

const lowPass = (factor: number): Float64Array => {
  const middle = (factor * tapsPerFactor - 1) / 2
  const taps = Float64Array.from({ length: factor * tapsPerFactor }, (_, i) => {
    const x = (2 * Math.PI * cutoff * (i - middle)) / (telephoneRate * factor)
    return (Math.sin(x) / x) * (0.54 + 0.46 * Math.cos((Math.PI * (i - middle)) / (middle + 1)))
  })
  const sum = taps.reduce((total, tap) => total + tap, 0)
  return taps.map((tap) => tap / sum)
}

/** Input samples that are filtered at once. */
const block = 1024

const rounded = (sample: number): number => Math.max(-32_768, Math.min(32_767, Math.round(sample)))

/** Cuts audio in chunks of any size into frames of 20 ms at 8 kHz. A chunk that is such a frame is not copied. */
export class TelephoneRate {
  readonly #factor: number
  readonly #taps: Float64Array
  /** The samples before a block that the filter still needs, and the block. */
  readonly #input: Float64Array
  /** What is kept of a block. */
  readonly #kept: Int16Array
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
    this.#input = new Float64Array(factor === 1 ? 0 : this.#taps.length - 1 + block)
    this.#kept = new Int16Array(factor === 1 ? 0 : Math.ceil(block / factor))
    this.#skip = factor - 1
  }

  /** Calls `take` for each frame that is complete; the array is valid only during the call. */
  push(chunk: Int16Array, take: (frame: Int16Array) => void): void {
    if (this.#factor > 1) {
      for (let at = 0; at < chunk.length; at += block) {
        this.#cut(this.#kept, this.#filter(chunk, at, Math.min(chunk.length, at + block)), take)
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
    const input = this.#input
    const kept = this.#kept
    const taps = this.#taps
    const factor = this.#factor
    const past = taps.length - 1
    const count = to - from
    for (let i = 0; i < count; i++) input[past + i] = chunk[from + i] ?? 0
    let at = this.#skip
    let n = 0
    // Four at once: in one sum each addition waits for the one before.
    for (; at + 3 * factor < count; at += 4 * factor) {
      let a = 0
      let b = 0
      let c = 0
      let d = 0
      for (let i = 0; i < taps.length; i++) {
        const tap = taps[i] ?? 0
        a += tap * (input[at + i] ?? 0)
        b += tap * (input[at + factor + i] ?? 0)
        c += tap * (input[at + 2 * factor + i] ?? 0)
        d += tap * (input[at + 3 * factor + i] ?? 0)
      }
      kept[n++] = rounded(a)
      kept[n++] = rounded(b)
      kept[n++] = rounded(c)
      kept[n++] = rounded(d)
    }
    for (; at < count; at += factor) {
      let sum = 0
      for (let i = 0; i < taps.length; i++) sum += (taps[i] ?? 0) * (input[at + i] ?? 0)
      kept[n++] = rounded(sum)
    }
    this.#skip = at - count
    input.copyWithin(0, count, count + past)
    return n
  }
}
