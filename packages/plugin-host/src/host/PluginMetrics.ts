import type { HostMetrics, MetricOptions } from "@svc/providers/Host"
import { Metric, MetricBoundaries } from "effect"

/** Metrics of one plugin at most, counted with their tags: each is kept until the process ends. */
export const maxMetrics = 200

const namePattern = /^[a-z][a-z0-9_]*$/

const checkNames = (names: ReadonlyArray<string>): void => {
  for (const name of names) {
    if (typeof name !== "string" || !namePattern.test(name)) {
      throw new TypeError(
        `the name of a metric or tag must be lower-case letters, digits and underscores, not ${JSON.stringify(name)}`
      )
    }
  }
}

/** The metrics of one plugin. `onTooMany` is called once, when it has asked for too many; further ones count nothing. */
export const pluginMetrics = (plugin: string, onTooMany: () => void): HostMetrics => {
  /** What a name is: one name has one kind and the same boundaries. */
  const kinds = new Map<string, string>()
  const known = new Set<string>()
  let warned = false

  /** Checks a metric; false when there are too many. */
  const admit = (name: string, kind: string, { tags = {} }: MetricOptions): boolean => {
    checkNames([name, ...Object.keys(tags)])
    const declared = kinds.get(name)
    if (declared !== undefined && declared !== kind) {
      throw new TypeError(`the metric ${name} is already a ${declared}, it cannot be a ${kind} too`)
    }
    const key = JSON.stringify([name, Object.entries(tags).sort()])
    if (!known.has(key) && known.size >= maxMetrics) {
      if (!warned) onTooMany()
      warned = true
      return false
    }
    kinds.set(name, kind)
    known.add(key)
    return true
  }

  const nameOf = (name: string) => `svc_plugin_${plugin.replaceAll("-", "_")}_${name}`

  const tagged = <Type, In, Out>(metric: Metric.Metric<Type, In, Out>, { tags = {} }: MetricOptions) =>
    Object.entries({ ...tags, plugin }).reduce((one, [tag, value]) => Metric.tagged(one, tag, String(value)), metric)

  return {
    counter: (name, options = {}) => {
      if (!admit(name, "counter", options)) return { add: () => {} }
      const { description } = options
      const metric = tagged(
        Metric.counter(nameOf(name), { incremental: true, ...(description === undefined ? {} : { description }) }),
        options
      )
      return {
        add: (by = 1) => {
          if (Number.isFinite(by) && by >= 0) metric.unsafeUpdate(by, [])
        }
      }
    },
    histogram: (name, options) => {
      const { boundaries, description } = options
      const ascending = boundaries.every(
        (bound, n) => Number.isFinite(bound) && bound > (boundaries[n - 1] ?? -Infinity)
      )
      if (boundaries.length === 0 || !ascending) {
        throw new TypeError(`the boundaries of the metric ${name} must be ascending numbers`)
      }
      if (!admit(name, `histogram of ${boundaries.join(", ")}`, options)) return { record: () => {} }
      const metric = tagged(
        Metric.histogram(nameOf(name), MetricBoundaries.fromIterable(boundaries), description),
        options
      )
      return {
        record: (value) => {
          if (Number.isFinite(value)) metric.unsafeUpdate(value, [])
        }
      }
    }
  }
}
