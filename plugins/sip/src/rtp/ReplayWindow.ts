/** Packets behind the newest one of which it is known whether they came (RFC 3711, 3.3.2). */
const size = 64

/** Which packets were taken, so that none is taken twice. Indices do not wrap. */
export class ReplayWindow {
  #newest = -1
  readonly #taken = new Float64Array(size).fill(-1)

  /** The highest index taken; -1: none. */
  get newest(): number {
    return this.#newest
  }

  /** Whether a packet was not taken, as far as it is known. */
  isFresh(index: number): boolean {
    return index > this.#newest || (index > this.#newest - size && this.#taken[index % size] !== index)
  }

  /** The packet is authentic, and taken. */
  take(index: number): void {
    this.#newest = Math.max(this.#newest, index)
    this.#taken[index % size] = index
  }
}
