import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import { speechLevel } from "../ToneSpeech/ToneFrames.ts"

const frameLength = 160

/** What is wrong with a phone's line. Absent or 0: nothing. */
export interface LineFaults {
  /** Share of frames lost, 0..1. */
  readonly loss?: number | undefined
  /** Noise, in dB below the level of tone speech. */
  readonly noise_db?: number | undefined
  /** Frames come up to this many milliseconds late. */
  readonly jitter_ms?: number | undefined
}

/** Loses, disturbs and delays the frames of one phone. The same seed does the same things. */
export class LineNoise {
  readonly #loss: number
  readonly #level: number
  readonly #jitterFrames: number
  readonly #pcm = new Int16Array(frameLength)
  readonly #noisy = new Uint8Array(frameLength)
  #state: number

  constructor(faults: LineFaults, seed: number) {
    this.#loss = faults.loss ?? 0
    this.#level = faults.noise_db === undefined ? 0 : speechLevel * 10 ** (-faults.noise_db / 20)
    this.#jitterFrames = (faults.jitter_ms ?? 0) / 20
    this.#state = seed
  }

  /** Whether the line is perfect. */
  get clean(): boolean {
    return this.#loss === 0 && this.#level === 0 && this.#jitterFrames === 0
  }

  /** Whether the next frame is lost. */
  loses(): boolean {
    return this.#loss > 0 && this.#random() < this.#loss
  }

  /** Whole frames by which the next frame is late. */
  delay(): number {
    return this.#jitterFrames === 0 ? 0 : Math.round(this.#random() * this.#jitterFrames)
  }

  /** The mu-law frame with noise on it; valid until the next call. */
  disturb(frame: Uint8Array): Uint8Array {
    if (this.#level === 0) return frame
    mulawToPcm(frame, 0, frameLength, this.#pcm, 0)
    for (let n = 0; n < frameLength; n++) {
      // The sum of three uniform values has a variance of 1/4: near enough to Gaussian noise.
      const noise = 2 * (this.#random() + this.#random() + this.#random() - 1.5) * this.#level
      this.#pcm[n] = Math.max(-32_768, Math.min(32_767, (this.#pcm[n] ?? 0) + noise))
    }
    pcmToMulaw(this.#pcm, 0, frameLength, this.#noisy, 0)
    return this.#noisy
  }

  /** 0..1, by the "mulberry32" generator: repeatable, and one per line. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
