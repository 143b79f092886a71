import { type AudioFormat, frameSamples } from "@svc/providers/Audio"

/** Frames that are kept at most: 10 s. */
const mostFrames = 500
/** Frames for which there is room at first; it is doubled when needed. */
const firstFrames = 32

/**
 * The caller's audio that speech-to-text may have to hear again: the last 10 s at most, with the voice activity of each frame.
 * Frames are numbered from 0 on.
 */
export class HeardAudio {
  /** The number of the oldest frame that is kept, and of the next one to come. */
  start = 0
  end = 0
  /** Samples in a frame. */
  readonly #length: number
  /** A ring of frames, a power of two long. */
  #samples: Int16Array
  #speech: Uint8Array

  constructor(format: AudioFormat) {
    this.#length = frameSamples(format)
    this.#samples = new Int16Array(firstFrames * this.#length)
    this.#speech = new Uint8Array(firstFrames)
  }

  push(frame: Int16Array, isSpeech: boolean): void {
    if (this.end - this.start === mostFrames) this.start++
    if (this.end - this.start === this.#speech.length) this.#grow()
    const at = this.#at(this.end)
    this.#samples.set(frame.length > this.#length ? frame.subarray(0, this.#length) : frame, at * this.#length)
    this.#speech[at] = isSpeech ? 1 : 0
    this.end++
  }

  /** The frames before `frame` are not needed any more. */
  forget(frame: number): void {
    this.start = Math.max(this.start, Math.min(frame, this.end))
  }

  /** One of the frames that are kept; valid until the next one is pushed, and not to be changed. */
  frame(number: number): Int16Array {
    const from = this.#at(number) * this.#length
    return this.#samples.subarray(from, from + this.#length)
  }

  /** Whether the caller spoke in a frame that is kept. */
  isSpeech(number: number): boolean {
    return this.#speech[this.#at(number)] === 1
  }

  #at(number: number): number {
    return number & (this.#speech.length - 1)
  }

  #grow(): void {
    const [samples, speech] = [this.#samples, this.#speech]
    const length = this.#length
    this.#samples = new Int16Array(2 * samples.length)
    this.#speech = new Uint8Array(2 * speech.length)
    for (let number = this.start; number < this.end; number++) {
      const old = number & (speech.length - 1)
      this.#samples.set(samples.subarray(old * length, (old + 1) * length), this.#at(number) * length)
      this.#speech[this.#at(number)] = speech[old] ?? 0
    }
  }
}
