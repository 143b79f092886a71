import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks"
import { Clock, Effect, type Scope } from "effect"
import type { Family } from "./PrometheusText.ts"

/** How often the event loop is looked at, in milliseconds. */
const resolution = 10

const nanoseconds = 1e-9

const gauge = (name: string, help: string, value: number): Family => ({
  name,
  type: "gauge",
  help,
  samples: [{ value }]
})

/** Delays of the event loop since they were last read; a timer that is on time is no delay. */
const lagOf = (delays: IntervalHistogram): ReadonlyArray<Family> => {
  const seconds = (value: number): number => Math.max(0, value * nanoseconds - resolution / 1000)
  const families =
    delays.count === 0
      ? []
      : [
          gauge(
            "nodejs_eventloop_lag_mean_seconds",
            "Mean delay of the event loop since the last scrape",
            seconds(delays.mean)
          ),
          gauge("nodejs_eventloop_lag_p50_seconds", "Median delay of the event loop", seconds(delays.percentile(50))),
          gauge("nodejs_eventloop_lag_p99_seconds", "99th percentile of the delays", seconds(delays.percentile(99))),
          gauge("nodejs_eventloop_lag_max_seconds", "Longest delay of the event loop", seconds(delays.max))
        ]
  delays.reset()
  return families
}

/**
 * Figures of the process, with the names that Prometheus clients for Node.js give them. The event loop is watched from the
 * first scrape on: a server that is not scraped pays nothing.
 */
export const processMetrics: Effect.Effect<{ readonly read: () => ReadonlyArray<Family> }, never, Scope.Scope> =
  Effect.gen(function* () {
    let delays: IntervalHistogram | undefined
    const startedAt = (yield* Clock.currentTimeMillis) / 1000 - process.uptime()
    yield* Effect.addFinalizer(() => Effect.sync(() => delays?.disable()))
    const read = (): ReadonlyArray<Family> => {
      if (delays === undefined) {
        delays = monitorEventLoopDelay({ resolution })
        delays.enable()
      }
      const { system, user } = process.cpuUsage()
      const { heapTotal, heapUsed, rss } = process.memoryUsage()
      return [
        {
          name: "process_cpu_seconds_total",
          type: "counter",
          help: "CPU time of the process, all threads",
          samples: [{ value: (user + system) / 1e6 }]
        },
        gauge("process_resident_memory_bytes", "Resident memory", rss),
        gauge("process_start_time_seconds", "When the process started, in Unix time", startedAt),
        gauge("nodejs_heap_size_used_bytes", "Used part of the heap of JavaScript", heapUsed),
        gauge("nodejs_heap_size_total_bytes", "Heap of JavaScript", heapTotal),
        ...lagOf(delays)
      ]
    }
    return { read }
  })
