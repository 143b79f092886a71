/** Where a media clock gets its time from. Plain code, because the clock runs 200 times a second. */
export interface TimeSource {
  /** Milliseconds from an arbitrary beginning. */
  readonly now: () => number
  /** Runs `callback` once, in `ms` milliseconds. Gives back how to cancel it. */
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
