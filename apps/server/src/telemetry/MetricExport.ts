import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Effect, Layer } from "effect"
import { Metrics } from "../http/metrics/MetricsRoutes.ts"
import { Telemetry } from "./Telemetry.ts"

/** Exports the metrics of `/metrics`, as often as `OTEL_METRIC_EXPORT_INTERVAL` says. Empty where no metrics are exported. */
export const MetricExport: Layer.Layer<never, never, Metrics> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const metrics = (yield* Telemetry)?.metrics
    if (metrics === undefined) return
    const { read } = yield* Metrics
    yield* startPeriodicTask({
      every: metrics.interval,
      run: Effect.map(read, (families) => {
        for (const family of families) metrics.families.offer(family)
      }),
      failureMessage: "The metrics could not be read for their export",
      timeout: "10 seconds",
      flushTimeout: "2 seconds"
    })
  })
)
