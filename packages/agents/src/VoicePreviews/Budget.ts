/** So many in a time, counted from the first one on. Times are milliseconds. */
export class Budget {
  readonly #limit: number
  readonly #window: number
  #since = 0
  #taken = 0

  constructor(limit: number, window: number) {
    this.#limit = limit
    this.#window = window
  }

  /** How long until there is one left; 0 when there is one. */
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
