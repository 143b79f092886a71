import type { TimeSource } from "./TimeSource.ts"

interface Waiting {
  readonly at: number
  readonly callback: () => void
}

/** Time that moves by hand, for tests and for simulations faster than life. */
export class ManualTime implements TimeSource {
  #now = 0
  #waiting: ReadonlyArray<Waiting> = []

  readonly now = (): number => this.#now

  readonly schedule = (callback: () => void, ms: number): (() => void) => {
    const entry = { at: this.#now + ms, callback }
    this.#waiting = [...this.#waiting, entry]
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== entry)
    }
  }

  /** Callbacks that wait for their time. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Lets `ms` milliseconds pass; what falls due runs at its own time, in order. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      const due = next
      this.#waiting = this.#waiting.filter((entry) => entry !== due)
      this.#now = Math.max(this.#now, due.at)
      due.callback()
    }
    this.#now = end
  }

  #next(end: number): Waiting | undefined {
    let first: Waiting | undefined
    for (const entry of this.#waiting) {
      if (entry.at <= end && (first === undefined || entry.at < first.at)) first = entry
    }
    return first
  }

  /** The process did nothing for `ms` milliseconds: time passed, callbacks did not run. They do so at the next `advance`. */
  stall(ms: number): void {
    this.#now += ms
  }
}
