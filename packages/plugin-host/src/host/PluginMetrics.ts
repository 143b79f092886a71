import type { HostMetrics, MetricOptions } from "@svc/providers/Host"
import { Metric, MetricBoundaries, MetricLabel } from "effect"

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

/** Adds to a counter, or records in a histogram. */
type Update = (value: number) => void

/** The metrics of one plugin. `onTooMany` is called once, when it has asked for too many; further ones count nothing. */
export const pluginMetrics = (plugin: string, onTooMany: () => void): HostMetrics => {
  /** What a name is: one name has one kind and the same boundaries. */
  const kinds = new Map<string, string>()
  // A metric that is asked for again is the same object: Effect exports an equal histogram, or one with another
  // description, as a second series of the same name and tags.
  const known = new Map<string, Update>()
  let warned = false

  /** What updates the metric of this name and these tags; it is made when it is new. Nothing when there are too many. */
  const find = <Type, Out>(
    name: string,
    kind: string,
    { tags = {} }: MetricOptions,
    make: (exportedName: string) => Metric.Metric<Type, number, Out>
  ): Update => {
    checkNames([name, ...Object.keys(tags)])
    const declared = kinds.get(name)
    if (declared !== undefined && declared !== kind) {
      throw new TypeError(`the metric ${name} is already a ${declared}, it cannot be a ${kind} too`)
    }
    const key = JSON.stringify([name, Object.entries(tags).sort()])
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= maxMetrics) {
      if (!warned) onTooMany()
      warned = true
      return () => {}
    }
    // All labels at once, as in ProviderMetrics.
    const labels = Object.entries({ ...tags, plugin }).map(([tag, value]) => MetricLabel.make(tag, String(value)))
    const metric = Metric.taggedWithLabels(make(`svc_plugin_${plugin.replaceAll("-", "_")}_${name}`), labels)
    const update: Update = (value) => metric.unsafeUpdate(value, [])
    kinds.set(name, kind)
    known.set(key, update)
    return update
  }

  return {
    counter: (name, options = {}) => {
      const { description } = options
      const add = find(name, "counter", options, (exportedName) =>
        Metric.counter(exportedName, { incremental: true, ...(description === undefined ? {} : { description }) })
      )
      return {
        add: (by = 1) => {
          if (Number.isFinite(by) && by >= 0) add(by)
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
      const record = find(name, `histogram of ${boundaries.join(", ")}`, options, (exportedName) =>
        Metric.histogram(exportedName, MetricBoundaries.fromIterable(boundaries), description)
      )
      return {
        record: (value) => {
          if (Number.isFinite(value)) record(value)
        }
      }
    }
  }
}
