import { codecOf } from "@svc/audio/Codec"
import { type AudioFormat, frameBytes, frameSamples } from "@svc/providers/Audio"

/** Frames that are kept at most: 10 s. */
const mostFrames = 500
/** Frames for which there is room at first; it is doubled when needed. */
const firstFrames = 64

/**
 * The caller's audio that speech-to-text may have to hear again: the last 10 s at most, in the leg's format, with the voice
 * activity of each frame. Frames are numbered from 0 on.
 */
export class HeardAudio {
  /** The number of the oldest frame that is kept, and of the next one to come. */
  start = 0
  end = 0
  readonly #codec
  readonly #bytesPerFrame: number
  /** A ring of frames, a power of two long. */
  #bytes: Uint8Array
  #speech: Uint8Array
  readonly #frame: Int16Array

  constructor(format: AudioFormat) {
    this.#codec = codecOf(format)
    this.#bytesPerFrame = frameBytes(format)
    this.#bytes = new Uint8Array(firstFrames * this.#bytesPerFrame)
    this.#speech = new Uint8Array(firstFrames)
    this.#frame = new Int16Array(frameSamples(format))
  }

  push(frame: Int16Array, isSpeech: boolean): void {
    if (this.end - this.start === mostFrames) this.start++
    if (this.end - this.start === this.#speech.length) this.#grow()
    const at = this.#at(this.end)
    this.#codec.encode(frame, 0, Math.min(frame.length, this.#frame.length), this.#bytes, at * this.#bytesPerFrame)
    this.#speech[at] = isSpeech ? 1 : 0
    this.end++
  }

  /** The frames before `frame` are not needed any more. */
  forget(frame: number): void {
    this.start = Math.max(this.start, Math.min(frame, this.end))
  }

  /** One of the frames that are kept; valid until the next call. */
  frame(number: number): Int16Array {
    this.#codec.decode(this.#bytes, this.#at(number) * this.#bytesPerFrame, this.#frame.length, this.#frame, 0)
    return this.#frame
  }

  /** Whether the caller spoke in a frame that is kept. */
  isSpeech(number: number): boolean {
    return this.#speech[this.#at(number)] === 1
  }

  #at(number: number): number {
    return number % this.#speech.length
  }

  #grow(): void {
    const [bytes, speech] = [this.#bytes, this.#speech]
    const size = this.#bytesPerFrame
    const oldAt = (number: number) => number % speech.length
    this.#bytes = new Uint8Array(2 * bytes.length)
    this.#speech = new Uint8Array(2 * speech.length)
    for (let number = this.start; number < this.end; number++) {
      const from = oldAt(number)
      this.#bytes.set(bytes.subarray(from * size, (from + 1) * size), this.#at(number) * size)
      this.#speech[this.#at(number)] = speech[from] ?? 0
    }
  }
}
