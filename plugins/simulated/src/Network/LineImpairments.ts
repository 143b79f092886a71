import { type Law, mulaw } from "../Law.ts"
import { Seeded } from "../Realism/Seeded.ts"
import { speechLevel } from "../ToneSpeech/ToneFrames.ts"

const frameLength = 160

/** The impairments of a phone's line, as its `dial` requests them. Absent or 0: none. */
export interface Impairments {
  /** The share of frames that are lost, 0..1. */
  readonly loss?: number | undefined
  /** Noise, in dB below the level of tone speech. */
  readonly noise_db?: number | undefined
  /** Frames arrive up to this many milliseconds late. */
  readonly jitter_ms?: number | undefined
}

/** Drops, delays and adds noise to the frames of one phone. The same seed gives the same result. */
export class LineImpairments {
  readonly #loss: number
  readonly #level: number
  readonly #jitterFrames: number
  readonly #pcm = new Int16Array(frameLength)
  readonly #noisy = new Uint8Array(frameLength)
  readonly #law: Law
  readonly #random: Seeded

  constructor(faults: Impairments, seed: number, law: Law = mulaw) {
    this.#loss = faults.loss ?? 0
    this.#level = faults.noise_db === undefined ? 0 : speechLevel * 10 ** (-faults.noise_db / 20)
    this.#jitterFrames = (faults.jitter_ms ?? 0) / 20
    this.#law = law
    this.#random = new Seeded(seed)
  }

  /** Whether the network delivers packets, of which some are lost or late. */
  get hasPackets(): boolean {
    return this.#loss > 0 || this.#jitterFrames > 0
  }

  /** Whether there are no impairments. */
  get clean(): boolean {
    return this.#loss === 0 && this.#level === 0 && this.#jitterFrames === 0
  }

  /** Whether the next frame is lost. */
  drops(): boolean {
    return this.#loss > 0 && this.#random.next() < this.#loss
  }

  /** The delay of the next frame, in whole frames. */
  delay(): number {
    return this.#jitterFrames === 0 ? 0 : Math.round(this.#random.next() * this.#jitterFrames)
  }

  /** The frame with noise added; valid until the next call. */
  addNoise(frame: Uint8Array): Uint8Array {
    if (this.#level === 0) return frame
    this.#law.decode(frame, 0, frameLength, this.#pcm, 0)
    for (let n = 0; n < frameLength; n++) {
      // The sum of three uniform values has a variance of 1/4 and is close to Gaussian noise.
      const noise = 2 * (this.#random.next() + this.#random.next() + this.#random.next() - 1.5) * this.#level
      this.#pcm[n] = Math.max(-32_768, Math.min(32_767, (this.#pcm[n] ?? 0) + noise))
    }
    this.#law.encode(this.#pcm, 0, frameLength, this.#noisy, 0)
    return this.#noisy
  }
}
