import { describe, expect, it } from "@effect/vitest"
import { Data, Effect, HashSet, Metric, TestClock } from "effect"
import { openMs, threshold } from "../../src/fence/CircuitBreaker.ts"
import { makeCircuit, throughCircuit } from "../../src/fence/ProviderCircuit.ts"
import { asPlugin } from "../../src/host/PluginHost.ts"

class Broken extends Data.TaggedError("Broken")<{ readonly reason: string; readonly retryable: boolean }> {}

/** What is exported for a plugin, by name of the metric; of a histogram the count. */
const exported = (plugin: string) =>
  Effect.map(Metric.snapshot, (pairs) =>
    Object.fromEntries(
      pairs.flatMap(({ metricKey, metricState }) => {
        const tags = Object.fromEntries([...HashSet.fromIterable(metricKey.tags)].map(({ key, value }) => [key, value]))
        if (tags["plugin"] !== plugin || tags["capability"] !== "language_model") return []
        return [
          [
            metricKey.name,
            "count" in metricState ? metricState.count : "value" in metricState ? metricState.value : null
          ]
        ]
      })
    )
  )

describe("metrics of a provider", () => {
  it.effect("are exported with 0 from the start", () =>
    Effect.gen(function* () {
      yield* asPlugin("metered-new")(makeCircuit("language_model"))
      expect(yield* exported("metered-new")).toEqual({
        svc_provider_requests_total: 0,
        svc_provider_errors_total: 0,
        svc_provider_refusals_total: 0,
        svc_provider_circuit_state: 0
      })
    })
  )

  it.effect("count requests, errors, refusals and the circuit's states until it is closed again", () =>
    Effect.gen(function* () {
      const circuit = yield* asPlugin("metered-broken")(makeCircuit("language_model"))
      const through = throughCircuit(circuit, (reason) => new Broken({ reason, retryable: true }))
      const fails = (retryable: boolean) => Effect.flip(through(Effect.fail(new Broken({ reason: "no", retryable }))))
      yield* fails(false)
      for (let n = 0; n < threshold; n++) yield* fails(true)
      yield* fails(true)
      expect(yield* exported("metered-broken")).toEqual({
        svc_provider_requests_total: threshold + 1,
        svc_provider_errors_total: threshold,
        svc_provider_refusals_total: 1,
        svc_provider_circuit_state: 2,
        svc_provider_request_duration_seconds: threshold + 1
      })
      yield* TestClock.adjust(openMs)
      let during: unknown
      yield* through(Effect.tap(exported("metered-broken"), (now) => Effect.sync(() => (during = now))))
      expect(during).toMatchObject({ svc_provider_circuit_state: 1 })
      expect(yield* exported("metered-broken")).toMatchObject({ svc_provider_circuit_state: 0 })
    })
  )
})
