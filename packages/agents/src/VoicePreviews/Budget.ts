/** A limit on the number of uses in a window that begins with the first use. Times are in milliseconds. */
export class Budget {
  readonly #limit: number
  readonly #window: number
  #since = 0
  #taken = 0

  constructor(limit: number, window: number) {
    this.#limit = limit
    this.#window = window
  }

  /** Time until a use is allowed; 0 when one is allowed now. */
  wait(now: number): number {
    const left = this.#since + this.#window - now
    return this.#taken < this.#limit || left <= 0 ? 0 : left
  }

  take(now: number): void {
    if (now >= this.#since + this.#window) {
      this.#since = now
      this.#taken = 0
    }
    this.#taken++
  }
}
