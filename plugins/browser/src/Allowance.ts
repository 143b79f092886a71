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

  /** Takes one, at `now` in milliseconds. False: there is none left. */
  take(now: number): boolean {
    if (this.isSpent(now)) return false
    this.#left--
    return true
  }

  /** Whether there is none left. */
  isSpent(now: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    return this.#left < 1
  }
}
