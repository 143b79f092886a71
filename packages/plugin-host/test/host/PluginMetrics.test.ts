import { expect, it } from "@effect/vitest"
import type { HostMetrics } from "@svc/providers/Host"
import { Effect, HashSet, Metric, Option } from "effect"
import { describe } from "vitest"
import { maxMetrics, pluginMetrics } from "../../src/host/PluginMetrics.ts"

/** The exported metrics of a name: tags and state. */
const exported = (name: string) =>
  Effect.map(Metric.snapshot, (pairs) =>
    pairs
      .filter(({ metricKey }) => metricKey.name === name)
      .map(({ metricKey, metricState }) => ({
        tags: Object.fromEntries([...HashSet.fromIterable(metricKey.tags)].map(({ key, value }) => [key, value])),
        description: Option.getOrNull(metricKey.description),
        state: metricState
      }))
  )

/** Metrics of a plugin that no other test has: they are those of the process. */
let plugins = 0
const metricsOf = (onTooMany = () => {}): { readonly plugin: string; readonly metrics: HostMetrics } => {
  const plugin = `metered-${++plugins}`
  return { plugin, metrics: pluginMetrics(plugin, onTooMany) }
}

describe("the metrics of a plugin", () => {
  it.effect("a counter is exported under the plugin's name with its tags, and only grows", () =>
    Effect.gen(function* () {
      const { metrics, plugin } = metricsOf()
      const closed = metrics.counter("reconnections", { description: "Sockets.", tags: { cause: "closed" } })
      closed.add()
      closed.add(2)
      for (const wrong of [-1, Number.NaN, Infinity]) closed.add(wrong)
      metrics.counter("reconnections", { tags: { cause: "timeout" } }).add()
      const found = yield* exported(`svc_plugin_${plugin.replace("-", "_")}_reconnections`)
      expect(found).toHaveLength(2)
      expect(found).toContainEqual({
        tags: { plugin, cause: "closed" },
        description: "Sockets.",
        state: expect.objectContaining({ count: 3 })
      })
      expect(found).toContainEqual({
        tags: { plugin, cause: "timeout" },
        description: null,
        state: expect.objectContaining({ count: 1 })
      })
    })
  )

  it.effect("a counter that is asked for again goes on", () =>
    Effect.gen(function* () {
      const { metrics, plugin } = metricsOf()
      metrics.counter("bytes").add(10)
      metrics.counter("bytes").add(5)
      expect(yield* exported(`svc_plugin_${plugin.replace("-", "_")}_bytes`)).toMatchObject([{ state: { count: 15 } }])
    })
  )

  it.effect("a histogram sorts values into its buckets and ignores those that are not finite", () =>
    Effect.gen(function* () {
      const { metrics, plugin } = metricsOf()
      const histogram = metrics.histogram("delay_ms", { boundaries: [10, 100] })
      for (const value of [5, 50, 60, 500, Number.NaN]) histogram.record(value)
      const [found] = yield* exported(`svc_plugin_${plugin.replace("-", "_")}_delay_ms`)
      expect(found).toMatchObject({ tags: { plugin }, state: { count: 4, sum: 615, min: 5, max: 500 } })
      expect(found?.state).toHaveProperty("buckets", [
        [10, 1],
        [100, 3],
        [Infinity, 4]
      ])
    })
  )

  it.effect("a metric that is asked for again is one series, whatever its description", () =>
    Effect.gen(function* () {
      const { metrics, plugin } = metricsOf()
      metrics.histogram("delay_ms", { boundaries: [10, 100] }).record(5)
      metrics.histogram("delay_ms", { boundaries: [10, 100], description: "Delay." }).record(50)
      expect(yield* exported(`svc_plugin_${plugin.replace("-", "_")}_delay_ms`)).toMatchObject([
        { description: null, state: { count: 2, sum: 55 } }
      ])
      metrics.counter("bytes", { description: "Bytes." }).add(1)
      metrics.counter("bytes").add(2)
      expect(yield* exported(`svc_plugin_${plugin.replace("-", "_")}_bytes`)).toMatchObject([
        { description: "Bytes.", state: { count: 3 } }
      ])
    })
  )

  it("a wrong name, wrong boundaries and a name of another kind are refused", () => {
    const { metrics } = metricsOf()
    for (const name of ["", "Bytes", "a-b", "1a", 'a"b', "a b"]) {
      expect(() => metrics.counter(name)).toThrow("the name of a metric or tag must be")
      expect(() => metrics.counter("bytes", { tags: { [name]: "a" } })).toThrow("the name of a metric or tag must be")
    }
    for (const boundaries of [[], [2, 1], [1, 1], [Number.NaN]]) {
      expect(() => metrics.histogram("delay", { boundaries })).toThrow("must be ascending numbers")
    }
    metrics.counter("one")
    expect(() => metrics.histogram("one", { boundaries: [1] })).toThrow("the metric one is already a counter")
    metrics.histogram("two", { boundaries: [1] })
    expect(() => metrics.histogram("two", { boundaries: [2] })).toThrow("the metric two is already a histogram of 1")
  })

  it.effect("more metrics than a plugin may have count nothing, with one warning", () =>
    Effect.gen(function* () {
      let warnings = 0
      const { metrics, plugin } = metricsOf(() => void warnings++)
      for (let call = 0; call < maxMetrics + 50; call++) metrics.counter("calls", { tags: { call: `c${call}` } }).add()
      expect(warnings).toBe(1)
      expect(yield* exported(`svc_plugin_${plugin.replace("-", "_")}_calls`)).toHaveLength(maxMetrics)
      // Those that it has go on.
      metrics.counter("calls", { tags: { call: "c0" } }).add()
      const found = yield* exported(`svc_plugin_${plugin.replace("-", "_")}_calls`)
      expect(found.find(({ tags }) => tags["call"] === "c0")).toMatchObject({ state: { count: 2 } })
    })
  )
})
