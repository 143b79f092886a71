import { frameMs } from "@svc/providers/Audio"

/** Frames whose power is kept: 1.28 s. */
const kept = 64
/** Frames before the end of voice activity that say how loud the sound was: 500 ms. */
const before = 25
/** Frames over which the present power is taken, because sounds swell and fade: 300 ms. */
const present = 15
/** A sound goes on while its power is more than this part of what it was: 3 dB less. */
const part = 1 / 2
/** Mean squares of PCM16 below this are silence on any line. */
const silence = 400

/**
 * Whether a sound goes on whose voice activity has ended, from frames of 20 ms: a detector takes a sound that stays the same
 * for a few seconds for the noise of the line, and so does not hear that it goes on.
 */
export class SoundLevel {
  readonly #powers = new Float64Array(kept)
  #count = 0
  /** The power of the sound whose voice activity has ended. */
  #sound = 0

  /** Takes the power of the next frame, as a mean square of PCM16. */
  push(power: number): void {
    this.#powers[this.#count++ % kept] = power
  }

  /** Voice activity ended `late` milliseconds ago. Returns whether the sound goes on as loud as it was. */
  ended(late: number): boolean {
    const after = Math.min(kept - before, Math.max(present, Math.round(late / frameMs)))
    this.#sound = this.#mean(after + before, after)
    return this.#isAsLoud(this.#mean(after, 0))
  }

  /** Whether that sound still goes on. */
  get goesOn(): boolean {
    return this.#isAsLoud(this.#mean(present, 0))
  }

  #isAsLoud(power: number): boolean {
    return this.#sound > silence && power > Math.max(silence, this.#sound * part)
  }

  /** The mean power of the frames from `from` frames ago to `to` frames ago. */
  #mean(from: number, to: number): number {
    let sum = 0
    const first = Math.max(0, this.#count - from)
    const end = this.#count - to
    for (let n = first; n < end; n++) sum += this.#powers[n % kept] ?? 0
    return end > first ? sum / (end - first) : 0
  }
}
