/** Repeatable pseudo-random values: the same seed gives the same ones. The generator is "mulberry32". */
export class Seeded {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A value from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from 0 to below `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }
}
