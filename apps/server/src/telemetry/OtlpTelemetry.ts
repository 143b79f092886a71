import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { layerJson, layerProtobuf } from "@effect/opentelemetry/OtlpSerialization"
import { Clock, Effect, Layer, Logger } from "effect"
import type { Family } from "../http/metrics/PrometheusText.ts"
import { version } from "../Version.ts"
import type { Span } from "./CallSpans.ts"
import { type LogEntry, otlpEncoding } from "./OtlpEncoding.ts"
import * as OtlpExporter from "./OtlpExporter.ts"
import { otlpLogger } from "./OtlpLogger.ts"
import { type Exports, Telemetry } from "./Telemetry.ts"
import type { SignalSettings, TelemetrySettings } from "./TelemetrySettings.ts"
import { isSampled } from "./TraceIds.ts"

const serialization = ({ protocol }: SignalSettings) => (protocol === "http/json" ? layerJson : layerProtobuf)

/**
 * What one request has: it is encoded in one go on the thread of the calls, for at most 2 to 3 ms. A span takes 90 µs in
 * protobuf, and 6 µs in JSON.
 */
const batch = ({ protocol }: SignalSettings) =>
  protocol === "http/json" ? { spans: 200, families: 100, entries: 200 } : { spans: 25, families: 8, entries: 25 }

/** The export of traces, metrics and logs as the settings say. This file is imported only when something is exported. */
export const layer = ({ metricInterval, resource, sampled, signals }: TelemetrySettings): Layer.Layer<never> =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const started = yield* Clock.currentTimeMillis
      const clock = yield* Effect.clock
      const attributes = {
        "service.version": version,
        "service.instance.id": randomUUID(),
        "host.name": hostname(),
        ...resource
      }
      const encoding = (settings: SignalSettings) =>
        otlpEncoding(attributes, version).pipe(Effect.provide(serialization(settings)))
      const traces = Effect.fnUntraced(function* (settings: SignalSettings) {
        const { spans } = yield* encoding(settings)
        const options = { encode: spans, every: "1 second", maxPending: 4096, maxBatch: batch(settings).spans } as const
        return yield* OtlpExporter.make<Span>("traces", settings, options)
      })
      const metrics = Effect.fnUntraced(function* (settings: SignalSettings) {
        const { metrics } = yield* encoding(settings)
        const encode = (families: ReadonlyArray<Family>) => metrics(families, started, clock.unsafeCurrentTimeMillis())
        const options = { encode, every: 0, maxPending: 1000, maxBatch: batch(settings).families } as const
        return yield* OtlpExporter.make<Family>("metrics", settings, options)
      })
      const logs = Effect.fnUntraced(function* (settings: SignalSettings) {
        const { logs } = yield* encoding(settings)
        const options = {
          encode: logs,
          every: "1 second",
          maxPending: 2048,
          maxBatch: batch(settings).entries
        } as const
        return yield* OtlpExporter.make<LogEntry>("logs", settings, options)
      })
      const spans = signals.traces && (yield* traces(signals.traces))
      const families = signals.metrics && (yield* metrics(signals.metrics))
      const entries = signals.logs && (yield* logs(signals.logs))
      const exports: Exports = {
        ...(spans === undefined ? {} : { traces: { spans, isSampled: (id) => isSampled(id, sampled) } }),
        ...(families === undefined ? {} : { metrics: { families, interval: metricInterval } })
      }
      const telemetry = Layer.succeed(Telemetry, exports)
      return entries === undefined ? telemetry : Layer.merge(telemetry, Logger.add(otlpLogger(entries)))
    })
  )
