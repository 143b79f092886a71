import { bandCount } from "./BandSplitter.ts"
import { delayCount, historyLength } from "./EchoDelay.ts"

/** Frames that are compared: 200 ms. */
const window = 10
/** Levels in dB below which there is only line noise. */
const quietLevel = 24
/** The correlation from which a delay explains what was heard: another one than the known one, that, and that in most bands. */
const enough = 0.86
const enoughIfKnown = 0.85
const enoughInMostBands = 0.9
/** Delays this near to the known one are not considered: speech resembles itself. */
const nearby = 2

const mask = historyLength - 1

/**
 * Finds out whether what was heard in the last 200 ms is an echo with another delay than the known one: whether the levels of
 * its bands follow those of what was sent. A caller's do not.
 */
export class EchoMatch {
  readonly #heard = new Float64Array(historyLength * bandCount)
  /** The levels heard in the window, less the mean of their band. */
  readonly #near = new Float64Array(window * bandCount)

  /** Keeps the levels that were heard in frame `now` of the ring. */
  push(now: number, levels: Float64Array): void {
    for (let band = 0; band < bandCount; band++) {
      this.#heard[now * bandCount + band] = Math.max(quietLevel, levels[band] ?? 0)
    }
  }

  /** The other delay that explains what was heard up to frame `now`, or -1. `sent`: levels in a ring, by frame and band. */
  find(now: number, sent: Float64Array, known: number): number {
    const energy = this.#center(now)
    let best = -1
    let most = enough
    for (let delay = 1; delay < delayCount; delay++) {
      if (Math.abs(delay - known) <= nearby) continue
      const correlation = this.#correlation(now - delay, sent, energy)
      if (correlation <= most) continue
      most = correlation
      best = delay
    }
    return best
  }

  /** Whether the known delay explains what was heard up to frame `now`, whatever the levels of the bands are to each other. */
  isExplained(now: number, sent: Float64Array, known: number, inMostBands: boolean): boolean {
    const energy = this.#center(now)
    const least = inMostBands ? enoughInMostBands : enoughIfKnown
    for (let delay = known - 1; delay <= known + 1; delay++) {
      if (this.#correlation(now - delay, sent, energy) > least) return true
    }
    return false
  }

  /** By how much a band was heard louder than it was sent with a delay, at most in the window. */
  gain(now: number, sent: Float64Array, delay: number, band: number, audible: number): number {
    let most = Number.NEGATIVE_INFINITY
    for (let i = 0; i < window; i++) {
      const level = sent[((now - delay - i) & mask) * bandCount + band] ?? 0
      if (level < audible) continue
      most = Math.max(most, (this.#heard[((now - i) & mask) * bandCount + band] ?? 0) - level)
    }
    return most
  }

  /** Fills `#near` and returns its energy. */
  #center(now: number): number {
    let energy = 0
    for (let band = 0; band < bandCount; band++) {
      let sum = 0
      for (let i = 0; i < window; i++) sum += this.#heard[((now - i) & mask) * bandCount + band] ?? 0
      const mean = sum / window
      for (let i = 0; i < window; i++) {
        const level = (this.#heard[((now - i) & mask) * bandCount + band] ?? 0) - mean
        this.#near[i * bandCount + band] = level
        energy += level * level
      }
    }
    return energy
  }

  #correlation(last: number, sent: Float64Array, energy: number): number {
    let products = 0
    let sentEnergy = 0
    for (let band = 0; band < bandCount; band++) {
      let sum = 0
      let squares = 0
      for (let i = 0; i < window; i++) {
        const level = Math.max(quietLevel, sent[((last - i) & mask) * bandCount + band] ?? 0)
        sum += level
        squares += level * level
        products += level * (this.#near[i * bandCount + band] ?? 0)
      }
      sentEnergy += squares - (sum * sum) / window
    }
    return products / Math.sqrt(energy * sentEnergy + 1)
  }
}
