/** Both sounds are compared at about 4 kHz. Lengths in its samples: 1 s is kept, an echo is at most 600 ms late. */
const comparedRate = 4000
const kept = 4096
const longestDelay = 2400

const mask = kept - 1

/** Compares what is heard with what was sent, to find out whether it is an echo of it and nothing else. */
export class EchoSearch {
  /** After `search`: how much of what was heard is an echo, from 0 to 1, and its delay in ms. */
  likeness = 0
  delayMs = 0
  readonly #step: number
  readonly #sent = new Float32Array(kept)
  readonly #heard = new Float32Array(kept)
  #next = 0

  /** `sampleRate` in Hz, a multiple of 4000. */
  constructor(sampleRate: number) {
    this.#step = Math.max(1, Math.round(sampleRate / comparedRate))
  }

  /** Takes a frame that was heard, and what was sent in the same time; undefined: nothing. */
  push(heard: Int16Array, sent: Int16Array | undefined): void {
    const step = this.#step
    for (let from = 0; from + step <= heard.length; from += step) {
      let near = 0
      let far = 0
      for (let i = from; i < from + step; i++) {
        near += heard[i] ?? 0
        far += sent?.[i] ?? 0
      }
      this.#heard[this.#next] = near
      this.#sent[this.#next] = far
      this.#next = (this.#next + 1) & mask
    }
  }

  /**
   * Finds the delay with which the last `ms` that were heard, 400 at most, are most like what was sent: the largest
   * normalized cross-correlation. An echo together with a caller of the same level gives about 0.7. Delays are from
   * `least` to `most` in ms.
   */
  search(ms: number, least = 0, most = 600): void {
    const length = Math.min(kept - longestDelay, Math.round((ms * comparedRate) / 1000))
    const first = this.#next - length + kept
    const shortest = Math.max(0, Math.round((least * comparedRate) / 1000))
    const longest = Math.min(longestDelay, Math.round((most * comparedRate) / 1000))
    let energy = 0
    let sentEnergy = 0
    for (let i = 0; i < length; i++) {
      energy += (this.#heard[(first + i) & mask] ?? 0) ** 2
      sentEnergy += (this.#sent[(first - shortest + i + kept) & mask] ?? 0) ** 2
    }
    this.likeness = 0
    for (let delay = shortest; delay <= longest; delay++) {
      if (delay > shortest) {
        const from = first - delay + kept
        sentEnergy += (this.#sent[from & mask] ?? 0) ** 2 - (this.#sent[(from + length) & mask] ?? 0) ** 2
      }
      // Nothing was sent then.
      if (sentEnergy <= length) continue
      let product = 0
      for (let i = 0; i < length; i++) {
        product += (this.#heard[(first + i) & mask] ?? 0) * (this.#sent[(first + i - delay + kept) & mask] ?? 0)
      }
      const likeness = Math.abs(product) / Math.sqrt(energy * sentEnergy + 1)
      if (likeness <= this.likeness) continue
      this.likeness = likeness
      this.delayMs = (delay * 1000) / comparedRate
    }
  }
}
