import { type MetricPair, MetricState, Option } from "effect"

/**
 * The text form of Prometheus (exposition format 0.0.4), of Effect's metrics and of values that are read when they are
 * asked for.
 */

export const contentType = "text/plain; version=0.0.4; charset=utf-8"

export type Labels = Readonly<Record<string, string>>

/** One value. `suffix` is added to the name of its family: `_bucket`, `_sum`, `_count`. */
export interface Sample {
  readonly suffix?: "_bucket" | "_sum" | "_count"
  readonly labels?: Labels
  readonly value: number
}

/** All samples of one name. */
export interface Family {
  readonly name: string
  readonly type: "counter" | "gauge" | "histogram" | "summary" | "untyped"
  readonly help: string
  readonly samples: ReadonlyArray<Sample>
}

const escapedHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
const escapedValue = (text: string): string => escapedHelp(text).replaceAll('"', '\\"')

/** A name that Prometheus accepts: others are replaced by underscores. */
const nameOf = (text: string): string => text.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_")

const numberOf = (value: number): string => (value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value))

const labelsOf = (labels: Labels = {}): string => {
  const entries = Object.entries(labels)
  return entries.length === 0
    ? ""
    : `{${entries.map(([name, value]) => `${nameOf(name).replaceAll(":", "_")}="${escapedValue(value)}"`).join(",")}}`
}

/** A histogram's samples from its cumulative buckets. */
export const histogram = (
  buckets: ReadonlyArray<readonly [bound: number, count: number]>,
  { count, labels = {}, sum }: { readonly count: number; readonly sum: number; readonly labels?: Labels }
): ReadonlyArray<Sample> => [
  ...buckets
    .filter(([bound]) => bound !== Infinity)
    .map(
      ([bound, within]): Sample => ({ suffix: "_bucket", labels: { ...labels, le: numberOf(bound) }, value: within })
    ),
  { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
  { suffix: "_sum", labels, value: sum },
  { suffix: "_count", labels, value: count }
]

const samplesOf = (
  state: MetricState.MetricState<unknown>,
  labels: Labels
): Pick<Family, "type" | "samples"> | undefined => {
  if (MetricState.isCounterState(state)) return { type: "counter", samples: [{ labels, value: Number(state.count) }] }
  if (MetricState.isGaugeState(state)) return { type: "gauge", samples: [{ labels, value: Number(state.value) }] }
  if (MetricState.isHistogramState(state)) {
    return { type: "histogram", samples: histogram([...state.buckets], { ...state, labels }) }
  }
  if (MetricState.isSummaryState(state)) {
    const quantiles = [...state.quantiles].flatMap(
      ([quantile, value]): ReadonlyArray<Sample> =>
        Option.isSome(value) ? [{ labels: { ...labels, quantile: String(quantile) }, value: value.value }] : []
    )
    return {
      type: "summary",
      samples: [
        ...quantiles,
        { suffix: "_sum", labels, value: state.sum },
        { suffix: "_count", labels, value: state.count }
      ]
    }
  }
  if (MetricState.isFrequencyState(state)) {
    return {
      type: "counter",
      samples: [...state.occurrences].map(([key, value]) => ({ labels: { ...labels, key }, value }))
    }
  }
  return undefined
}

/** Effect's own metrics of fibers, which count only where they are switched on. */
const isOwnOfEffect = (name: string): boolean => name.startsWith("effect_fiber_")

/** The families of a snapshot of Effect's metrics. */
export const familiesOf = (snapshot: ReadonlyArray<MetricPair.MetricPair.Untyped>): ReadonlyArray<Family> => {
  const families = new Map<string, Family>()
  for (const { metricKey, metricState } of snapshot) {
    if (isOwnOfEffect(metricKey.name)) continue
    const found = samplesOf(metricState, Object.fromEntries(metricKey.tags.map(({ key, value }) => [key, value])))
    if (found === undefined) continue
    const name = nameOf(metricKey.name)
    const before = families.get(name)
    // A plugin may have given one name to metrics of two kinds.
    if (before !== undefined && before.type !== found.type) continue
    const help =
      before?.help !== undefined && before.help !== "" ? before.help : Option.getOrElse(metricKey.description, () => "")
    families.set(name, { name, type: found.type, help, samples: [...(before?.samples ?? []), ...found.samples] })
  }
  return [...families.values()]
}

/** The text of families, sorted by name. Of two samples with the same labels the last one is taken. */
export const textOf = (families: ReadonlyArray<Family>): string => {
  const lines: Array<string> = []
  for (const { help, name, samples, type } of [...families].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (help !== "") lines.push(`# HELP ${name} ${escapedHelp(help)}`)
    lines.push(`# TYPE ${name} ${type}`)
    const series = new Map<string, number>()
    for (const { labels, suffix = "", value } of samples) series.set(`${name}${suffix}${labelsOf(labels)}`, value)
    for (const [key, value] of series) lines.push(`${key} ${numberOf(value)}`)
  }
  return `${lines.join("\n")}\n`
}
