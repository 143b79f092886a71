/** A frame is quiet when its power is this much below the loudest of the last seconds: 17 dB. */
const quietRatio = 1 / 50
/** By how much the loudest power fades with each frame of 20 ms: by half in 2 s. */
const fading = 0.5 ** (1 / 100)
/** Mean squares of PCM16 below this are quiet on any line: the noise of a telephone codec. */
const silence = 400

/**
 * For how long the line has been quiet, from 20 ms frames. Unlike voice activity it does not wait: it also reports the
 * short gaps within words, and takes steady noise for sound.
 */
export class QuietMeter {
  #loudest = 0
  #frames = 0

  /** Milliseconds of quiet until now. */
  get quietMs(): number {
    return this.#frames * 20
  }

  push(frame: Int16Array): void {
    let sum = 0
    for (let at = 0; at < frame.length; at++) {
      const sample = frame[at] ?? 0
      sum += sample * sample
    }
    const power = frame.length === 0 ? 0 : sum / frame.length
    this.#loudest = Math.max(power, this.#loudest * fading)
    const isQuiet = power < Math.max(silence, this.#loudest * quietRatio)
    this.#frames = isQuiet ? this.#frames + 1 : 0
  }
}
