/** The time source of a media clock. Not an Effect, because the clock runs 200 times a second. */
export interface TimeSource {
  /** Milliseconds since an arbitrary start. */
  readonly now: () => number
  /** Runs `callback` once, after `ms` milliseconds. Returns a function that cancels it. */
  readonly schedule: (callback: () => void, ms: number) => () => void
}

/** The machine's monotonic clock. */
export const realTime: TimeSource = {
  now: () => performance.now(),
  schedule: (callback, ms) => {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  }
}
