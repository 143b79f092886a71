import type { TimeSource } from "./TimeSource.ts"

interface Scheduled {
  readonly at: number
  readonly callback: () => void
}

/** Time that is advanced explicitly, for tests and for simulations faster than real time. */
export class ManualTime implements TimeSource {
  #now = 0
  #scheduled: ReadonlyArray<Scheduled> = []

  readonly now = (): number => this.#now

  readonly schedule = (callback: () => void, ms: number): (() => void) => {
    const entry = { at: this.#now + ms, callback }
    this.#scheduled = [...this.#scheduled, entry]
    return () => {
      this.#scheduled = this.#scheduled.filter((other) => other !== entry)
    }
  }

  /** The number of scheduled callbacks. */
  get scheduled(): number {
    return this.#scheduled.length
  }

  /** Advances by `ms` milliseconds. Callbacks run in order, each at its own time. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      const due = next
      this.#scheduled = this.#scheduled.filter((entry) => entry !== due)
      this.#now = Math.max(this.#now, due.at)
      due.callback()
    }
    this.#now = end
  }

  #next(end: number): Scheduled | undefined {
    let first: Scheduled | undefined
    for (const entry of this.#scheduled) {
      if (entry.at <= end && (first === undefined || entry.at < first.at)) first = entry
    }
    return first
  }

  /** Simulates a stalled process: `ms` milliseconds pass without callbacks, which run at the next `advance`. */
  stall(ms: number): void {
    this.#now += ms
  }
}
