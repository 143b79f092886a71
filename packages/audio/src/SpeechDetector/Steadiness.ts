import { type BandSplitter, bandCount } from "./BandSplitter.ts"

/** Frames over which a sound must not change: 260 ms. */
const window = 13
/** The range of its level in dB, as the mean of two frames: the firings of an engine fall into one frame or the next. */
const range = 3
/** A band that is this far above its level in the two frames before, in dB, is a change of the sound, if audible. */
const change = 9
const audible = 24

/**
 * Recognizes sound that does not change: hum, tones, hiss. The level of speech varies by 9 dB or more, and so does its
 * spectrum.
 */
export class Steadiness {
  readonly #levels = new Float64Array(window)
  #lastLevel = 0
  #at = 0
  #frames = 0
  #sinceChange = 0
  /** The levels of the bands in the last frame and in the one before. */
  readonly #last = new Float64Array(bandCount)
  readonly #earlier = new Float64Array(bandCount)

  /** For how many frames the sound has been steady: 0 or `window`. */
  push(bands: BandSplitter): number {
    const mean = (bands.level + this.#lastLevel) / 2
    this.#lastLevel = bands.level
    this.#levels[this.#at] = mean
    this.#at = (this.#at + 1) % window
    this.#frames++
    this.#sinceChange = this.#changes(bands.levels) ? 0 : this.#sinceChange + 1
    if (this.#frames <= window || this.#sinceChange < window) return 0
    let lowest = mean
    let highest = mean
    for (let i = 0; i < window; i++) {
      const level = this.#levels[i] ?? 0
      if (level < lowest) lowest = level
      else if (level > highest) highest = level
    }
    return highest - lowest < range ? window : 0
  }

  #changes(levels: Float64Array): boolean {
    let isChange = false
    for (let band = 0; band < bandCount; band++) {
      const level = levels[band] ?? 0
      const last = this.#last[band] ?? 0
      if (level > audible && level - Math.max(last, this.#earlier[band] ?? 0) > change) isChange = true
      this.#earlier[band] = last
      this.#last[band] = level
    }
    return isChange
  }
}
