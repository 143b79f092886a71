import { mainThread } from "./ProcessMeter.ts"

const intervalMs = 1

/**
 * The longest stall of this process's event loop: how late a timer of 1 ms fires. Only the time in which the main thread
 * used a core counts, where the system reports it: not that of other programs and of helper threads.
 */
export class StallMeter {
  private longest = 0
  private last = performance.now()
  private lastUsed = mainThread()?.used

  constructor() {
    setInterval(() => this.tick(), intervalMs).unref()
  }

  private tick(): void {
    const now = performance.now()
    const used = mainThread()?.used
    const late = now - this.last - intervalMs
    const busy = used === undefined || this.lastUsed === undefined ? late : used - this.lastUsed
    this.longest = Math.max(this.longest, Math.min(late, busy))
    this.last = now
    this.lastUsed = used
  }

  /** Milliseconds since the last call of this method. */
  take(): number {
    const taken = this.longest
    this.longest = 0
    return taken
  }
}
