import { mainThread } from "./ProcessMeter.ts"

const intervalMs = 1

/**
 * The longest stall of this process: the CPU time that its main thread used between two successive runs of a timer of
 * 1 ms. The timer that paces the calls waits as long, and time in which other programs or helper threads use the cores
 * is not counted. Where the system does not report CPU time, the lateness of the timer.
 */
export class StallMeter {
  private longest = 0
  private last = performance.now()
  private lastUsed = mainThread()?.used

  constructor() {
    setInterval(() => this.tick(), intervalMs).unref()
  }

  private tick(): void {
    const used = mainThread()?.used
    const now = performance.now()
    const stalled =
      used === undefined || this.lastUsed === undefined
        ? Math.max(0, now - this.last - intervalMs)
        : used - this.lastUsed
    this.longest = Math.max(this.longest, stalled)
    this.last = now
    // What the meter itself uses does not count.
    this.lastUsed = mainThread()?.used
  }

  /** Milliseconds since the last call of this method. */
  take(): number {
    this.tick()
    const taken = this.longest
    this.longest = 0
    return taken
  }
}
