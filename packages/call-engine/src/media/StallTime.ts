/** A timer that fires so many ms late shows that the process was too busy to read the network. */
const stallMs = 45

/**
 * Counts the time in which the process did nothing. What waits in its sockets after such a time is older than a timeout
 * that became due meanwhile.
 */
export class StallTime {
  readonly #now: () => number
  #counted = 0
  /** When the timer is due that shows a stall, or was last; infinite: there is none. */
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

  /** All of it in milliseconds, with what has passed of a stall that goes on. */
  get total(): number {
    return this.#counted + this.#late(this.#now())
  }

  #late(now: number): number {
    const late = now - this.#due
    return late > stallMs ? late : 0
  }
}
