import { type ConfigError, Effect, Layer } from "effect"
import { telemetrySettings } from "./TelemetrySettings.ts"

/**
 * The export of traces, metrics and logs by OTLP, as the standard variables `OTEL_…` say; without them, nothing of it is
 * imported.
 */
export const layer: Layer.Layer<never, ConfigError.ConfigError> = Layer.unwrapEffect(
  Effect.gen(function* () {
    const settings = yield* telemetrySettings
    if (settings === undefined) return Layer.empty
    const otlp = yield* Effect.promise(() => import("./OtlpTelemetry.ts"))
    return otlp.layer(settings)
  })
)
