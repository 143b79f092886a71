/** A timer that fires so many ms late shows that the process was too busy to read the network. */
export const stallMs = 45

/**
 * Counts the time in which the process stalled. What waits in its sockets after a stall came before the timeouts that
 * became due during it.
 */
export class StallTime {
  readonly #now: () => number
  #counted = 0
  /** When the timer that detects stalls is due, or last fired; infinite: no timer runs. */
  #due = Number.POSITIVE_INFINITY

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** The timer has fired. */
  fired(): void {
    const now = this.#now()
    this.#counted += this.#late(now)
    this.#due = now
  }

  /** The timer fires next at `due`; infinite: it does not. */
  wait(due: number): void {
    this.#due = due
  }

  /** In milliseconds, including a stall that still lasts. */
  get total(): number {
    return this.#counted + this.#late(this.#now())
  }

  #late(now: number): number {
    const late = now - this.#due
    return late > stallMs ? late : 0
  }
}
