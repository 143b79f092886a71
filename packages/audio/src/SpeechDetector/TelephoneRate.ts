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

/** Cuts audio in chunks of any size into frames of 20 ms at 8 kHz. A chunk that is such a frame is not copied. */
export class TelephoneRate {
  readonly #factor: number
  readonly #taps: Float64Array
  /** The last samples, twice in a row, so that any of them begins a full stretch. */
  readonly #past: Float64Array
  #at = 0
  #skipped = 0
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
    this.#past = new Float64Array(2 * this.#taps.length)
  }

  /** Calls `take` for each frame that is complete; the array is valid only during the call. */
  push(chunk: Int16Array, take: (frame: Int16Array) => void): void {
    if (this.#factor === 1 && this.#count === 0 && chunk.length === frameLength) {
      take(chunk)
      return
    }
    for (let i = 0; i < chunk.length; i++) {
      const sample = chunk[i] ?? 0
      if (this.#factor > 1) {
        this.#remember(sample)
        if (++this.#skipped < this.#factor) continue
        this.#skipped = 0
      }
      this.#frame[this.#count++] = this.#factor === 1 ? sample : this.#filtered()
      if (this.#count < frameLength) continue
      this.#count = 0
      take(this.#frame)
    }
  }

  #remember(sample: number): void {
    this.#past[this.#at] = sample
    this.#past[this.#at + this.#taps.length] = sample
    this.#at = (this.#at + 1) % this.#taps.length
  }

  #filtered(): number {
    let sum = 0
    for (let i = 0; i < this.#taps.length; i++) sum += (this.#taps[i] ?? 0) * (this.#past[this.#at + i] ?? 0)
    return Math.max(-32_768, Math.min(32_767, Math.round(sum)))
  }
}
