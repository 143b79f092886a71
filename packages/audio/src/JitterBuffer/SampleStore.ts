import type { Codec } from "../Codec.ts"

/** Samples that wait for earlier ones, by their position: a ring, and which of its samples there are. */
export class SampleStore {
  readonly #samples: Int16Array
  readonly #present: Uint8Array
  readonly #codec: Codec
  /** How many samples there are. */
  count = 0

  constructor(size: number, codec: Codec) {
    this.#samples = new Int16Array(size)
    this.#present = new Uint8Array(size)
    this.#codec = codec
  }

  get size(): number {
    return this.#samples.length
  }

  /** Takes samples that come from `position` on; those that are there already are replaced. */
  write(position: number, bytes: Uint8Array, byteOffset: number, count: number): void {
    const at = position % this.size
    const first = Math.min(count, this.size - at)
    this.#writeRun(at, bytes, byteOffset, first)
    if (first < count) this.#writeRun(0, bytes, byteOffset + first * this.#codec.bytesPerSample, count - first)
  }

  #writeRun(at: number, bytes: Uint8Array, byteOffset: number, count: number): void {
    this.#codec.decode(bytes, byteOffset, count, this.#samples, at)
    for (let i = at; i < at + count; i++) {
      if (this.#present[i] === 1) continue
      this.#present[i] = 1
      this.count++
    }
  }

  /** The number of samples that are there, one after the other, from `position` on. */
  present(position: number): number {
    return this.#run(position, 0)
  }

  /** The number of samples that are missing from `position` on, to the next that is there. */
  missing(position: number): number {
    return this.#run(position, 1)
  }

  /** The distance from `position` to the next sample in this state. */
  #run(position: number, state: 0 | 1): number {
    const at = position % this.size
    const found = this.#present.indexOf(state, at)
    if (found >= 0) return found - at
    const wrapped = this.#present.indexOf(state)
    return wrapped < 0 || wrapped >= at ? this.size : this.size - at + wrapped
  }

  /** Moves samples that are there into `out`. */
  take(position: number, count: number, out: Int16Array, outOffset: number): void {
    let at = position % this.size
    for (let i = 0; i < count; i++) {
      out[outOffset + i] = this.#samples[at] ?? 0
      this.#present[at] = 0
      if (++at === this.size) at = 0
    }
    this.count -= count
  }
}
