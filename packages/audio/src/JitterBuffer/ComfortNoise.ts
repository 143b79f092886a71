import { nearest } from "../Rounding.ts"

/**
 * Noise like the background of what was heard, for times in which the network sends nothing: of the same level, and as
 * dull or bright. Between silence and noise a detector would hear something begin.
 */

/** The highest level, as a mean square: 50 dB below full scale. Quieter frames are background. */
const loudest = (32_768 * 10 ** (-50 / 20)) ** 2
/** One of so many frames of 20 ms is learned from, which is enough and costs less. */
const every = 4
/** The share that a quiet frame has in the level. */
const share = 1 / 4
/** By how much the level rises with each louder frame, up to the highest: 3 dB a second, from this power. */
const rise = 10 ** ((3 / 10 / 50) * every)
const least = 1
const mostAlike = 0.95
/** Half the width of a uniform distribution with a variance of 1. */
const uniform = Math.sqrt(3)

export class ComfortNoise {
  /** Mean square of the background. */
  #power = 0
  /** How alike neighbouring samples of the background are. */
  #alike = 0
  #last = 0
  #random = 1
  #frames = 0

  /** Learns from one frame that was heard. */
  learn(frame: Int16Array): void {
    if (this.#frames++ % every !== 0) return
    let energy = 0
    let product = 0
    let before = 0
    for (let i = 0; i < frame.length; i++) {
      const sample = frame[i] ?? 0
      energy += sample * sample
      product += sample * before
      before = sample
    }
    const power = energy / frame.length
    if (power > loudest) {
      this.#power = Math.min(loudest, Math.max(least, this.#power) * rise)
      return
    }
    this.#power += (power - this.#power) * share
    if (energy === 0) return
    const alike = Math.max(-mostAlike, Math.min(mostAlike, product / energy))
    this.#alike += (alike - this.#alike) * share
  }

  /** The next sample. */
  next(): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) | 0
    this.#last = this.#alike * this.#last + this.#random * this.#scale
    return this.#last
  }

  /** Writes the next samples. */
  fill(out: Int16Array, offset: number, count: number): void {
    const alike = this.#alike
    const scale = this.#scale
    let random = this.#random
    let last = this.#last
    for (let at = offset; at < offset + count; at++) {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) | 0
      last = alike * last + random * scale
      out[at] = nearest(last)
    }
    this.#random = random
    this.#last = last
  }

  /** By what a random number of 32 bits becomes white noise. */
  get #scale(): number {
    return (uniform * Math.sqrt(this.#power * (1 - this.#alike * this.#alike))) / 2_147_483_648
  }
}
