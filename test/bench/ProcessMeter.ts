import { readFileSync } from "node:fs"
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks"
import type { ProcessFigures } from "./ProcessRequests.ts"

const resolutionMs = 5

/**
 * Milliseconds that our main thread used a core, and that it was ready to run while other programs used the cores;
 * undefined where the system does not report them.
 */
export const mainThread = (): { readonly used: number; readonly waited: number } | undefined => {
  try {
    // The kernel brings the CPU time of a running thread up to date when that of its process is read, else at its next
    // timer interrupt only.
    process.cpuUsage()
    const [used, waited] = readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, "utf8").split(" ")
    return { used: Number(used) / 1e6, waited: Number(waited) / 1e6 }
  } catch {
    return undefined
  }
}

const waited = (): number => mainThread()?.waited ?? 0

/** CPU time and event-loop delay of this process from `begin` on. */
export class ProcessMeter {
  private readonly loop: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs })
  private cpu = process.cpuUsage()
  private waited = waited()
  private since = performance.now()

  begin(): void {
    this.loop.enable()
    this.loop.reset()
    this.cpu = process.cpuUsage()
    this.waited = waited()
    this.since = performance.now()
  }

  read(): ProcessFigures {
    const { system, user } = process.cpuUsage(this.cpu)
    // The histogram holds the time between two looks at the clock, which is at least the resolution.
    const late = (ns: number) => Math.max(0, ns / 1e6 - resolutionMs)
    return {
      cpuMs: (user + system) / 1000,
      wallMs: performance.now() - this.since,
      waitedMs: waited() - this.waited,
      loop: { p50: late(this.loop.percentile(50)), p99: late(this.loop.percentile(99)), max: late(this.loop.max) }
    }
  }
}
