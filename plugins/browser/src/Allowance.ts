/** How much may come: `burst` at once, and `perSecond` in the long run. */
export class Allowance {
  readonly #perSecond: number
  readonly #burst: number
  #left: number
  #at: number

  constructor(options: { readonly perSecond: number; readonly burst: number; readonly now: number }) {
    this.#perSecond = options.perSecond
    this.#burst = options.burst
    this.#left = options.burst
    this.#at = options.now
  }

  /** Takes `count`, at `now` in milliseconds. False: there are not so many left. */
  take(now: number, count = 1): boolean {
    if (this.#available(now) < count) return false
    this.#left -= count
    return true
  }

  /** Whether there is none left. */
  isSpent(now: number): boolean {
    return this.#available(now) < 1
  }

  #available(now: number): number {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    return this.#left
  }
}
