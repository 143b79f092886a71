import { Metric, MetricBoundaries, MetricLabel } from "effect"
import type { CircuitBreaker } from "./CircuitBreaker.ts"

/** The kinds of providers that have a circuit breaker, as labels. */
export type ProviderCapability = "speech_to_text" | "text_to_speech" | "language_model" | "embedding"

/** Counts what passes through the circuit breaker of one provider, by plugin and capability. */
export interface ProviderMetrics {
  readonly onRequest: () => void
  /** The circuit breaker is open: the provider was not asked. */
  readonly onRefusal: () => void
  readonly onError: () => void
  readonly onDuration: (ms: number) => void
  readonly onState: (state: CircuitBreaker["_tag"]) => void
}

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const requests = counter("svc_provider_requests_total", "Requests to providers, and sessions opened at them")
const errors = counter("svc_provider_errors_total", "Requests that the provider failed, hung in or answered wrongly")
const refusals = counter(
  "svc_provider_refusals_total",
  "Requests that were not made because the circuit breaker was open"
)
const durations = Metric.histogram(
  "svc_provider_request_duration_seconds",
  MetricBoundaries.fromIterable([0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
  "How long requests took until they ended: of text-to-speech and language models with all they gave"
)
const circuit = Metric.gauge("svc_provider_circuit_state", {
  description: "State of the circuit breaker: 0 closed, 1 half open, 2 open"
})

const values = { Closed: 0, HalfOpen: 1, Open: 2 } as const

/** Those of one provider. They are exported from now on, with 0. */
export const providerMetrics = (plugin: string, capability: ProviderCapability): ProviderMetrics => {
  // All labels at once: each further `Metric.tagged` makes every update look the metric up again, for 5 µs instead of 0.1.
  const labels = [MetricLabel.make("plugin", plugin), MetricLabel.make("capability", capability)]
  const of = <Type, In, Out>(metric: Metric.Metric<Type, In, Out>): Metric.Metric<Type, In, Out> =>
    Metric.taggedWithLabels(metric, labels)
  const own = { requests: of(requests), errors: of(errors), refusals: of(refusals) }
  for (const metric of Object.values(own)) metric.unsafeUpdate(0, [])
  const state = of(circuit)
  state.unsafeUpdate(0, [])
  const duration = of(durations)
  return {
    onRequest: () => own.requests.unsafeUpdate(1, []),
    onRefusal: () => own.refusals.unsafeUpdate(1, []),
    onError: () => own.errors.unsafeUpdate(1, []),
    onDuration: (ms) => duration.unsafeUpdate(ms / 1000, []),
    onState: (tag) => state.unsafeUpdate(values[tag], [])
  }
}
