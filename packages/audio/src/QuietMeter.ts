/** A frame is quiet when its power is this much below the loudest of the last seconds: 17 dB. */
const quietRatio = 1 / 50
/** By how much the loudest power fades with each frame of 20 ms: by half in 2 s. */
const fading = 0.5 ** (1 / 100)
/** Mean squares of PCM16 below this are quiet on any line: the noise of a telephone codec. */
const silence = 400

/**
 * For how long the line has been quiet, from frames of 20 ms. Unlike voice activity it does not wait: it also reports the
 * short gaps within words, and takes steady noise for sound.
 */
export class QuietMeter {
  #loudest = 0
  #frames = 0

  /** Milliseconds of quiet until now. */
  get quietMs(): number {
    return this.#frames * 20
  }

  /** Takes the power of the next frame, as a mean square of PCM16. */
  push(power: number): void {
    this.#loudest = Math.max(power, this.#loudest * fading)
    const isQuiet = power < Math.max(silence, this.#loudest * quietRatio)
    this.#frames = isQuiet ? this.#frames + 1 : 0
  }
}
