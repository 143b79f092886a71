import { OtlpSerialization } from "@effect/opentelemetry/OtlpSerialization"
import type * as HttpBody from "@effect/platform/HttpBody"
import { type Context, Effect } from "effect"
import type { Family, Sample } from "../http/metrics/PrometheusText.ts"
import type { Attributes, Span } from "./CallSpans.ts"
import type { Encoded } from "./OtlpExporter.ts"

/** An entry of the log. Times are Unix milliseconds. */
export interface LogEntry {
  readonly at: number
  readonly severity: { readonly number: number; readonly text: string }
  readonly body: string
  readonly attributes: Attributes
  /** Of the call that it belongs to. */
  readonly traceId: string | undefined
  readonly spanId: string | undefined
}

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, string | number | boolean>>
}

/** The most characters of a name or a value. */
const maxText = 1000

const short = (text: string): string => (text.length <= maxText ? text : text.slice(0, maxText)).toWellFormed()

const anyValue = (value: string | number | boolean): KeyValue["value"] => {
  if (typeof value === "string") return { stringValue: short(value) }
  if (typeof value === "boolean") return { boolValue: value }
  return Number.isSafeInteger(value) && value >= 0 ? { intValue: value } : { doubleValue: value }
}

const attributesOf = (attributes: Attributes): ReadonlyArray<KeyValue> =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === null || value === undefined || (typeof value === "number" && !Number.isFinite(value))
      ? []
      : [{ key, value: anyValue(value) }]
  )

/** Nanoseconds as OTLP has them in JSON: text, because they are beyond what a double carries. */
const nanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n)

/** Numbers of `Span.SpanKind` and `Status.StatusCode`; see opentelemetry/proto/trace/v1/trace.proto. */
const kinds = { internal: 1, server: 2, client: 3 } as const
const statusError = 2

const spanOf = ({ attributes, end, error, events, kind, name, parentSpanId, spanId, start, traceId }: Span) => ({
  traceId,
  spanId,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  name: short(name),
  kind: kinds[kind],
  startTimeUnixNano: nanoseconds(start),
  endTimeUnixNano: nanoseconds(end),
  attributes: attributesOf(attributes),
  droppedAttributesCount: 0,
  events: events.map(({ at, attributes, name }) => ({
    name: short(name),
    timeUnixNano: nanoseconds(at),
    attributes: attributesOf(attributes),
    droppedAttributesCount: 0
  })),
  droppedEventsCount: 0,
  links: [],
  droppedLinksCount: 0,
  status: error === null ? { code: 0 } : { code: statusError, message: short(error) }
})

const logOf = ({ at, attributes, body, severity, spanId, traceId }: LogEntry) => ({
  timeUnixNano: nanoseconds(at),
  observedTimeUnixNano: nanoseconds(at),
  severityNumber: severity.number,
  severityText: severity.text,
  body: { stringValue: body.toWellFormed() },
  attributes: attributesOf(attributes),
  droppedAttributesCount: 0,
  ...(traceId === undefined ? {} : { traceId }),
  ...(spanId === undefined ? {} : { spanId })
})

/** `AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE`; see opentelemetry/proto/metrics/v1/metrics.proto. */
const cumulative = 2

interface Bucket {
  readonly bound: number
  readonly count: number
}

/** The points of a histogram: Prometheus counts all up to a bound, OTLP those between two. */
const histogramPoints = (samples: ReadonlyArray<Sample>, times: object): ReadonlyArray<object> => {
  const series = new Map<string, { labels: Attributes; buckets: Array<Bucket>; sum: number; count: number }>()
  for (const { labels = {}, suffix, value } of samples) {
    const { le, ...others } = labels
    const key = JSON.stringify(Object.entries(others))
    const one = series.get(key) ?? { labels: others, buckets: [], sum: 0, count: 0 }
    series.set(key, one)
    if (suffix === "_sum") one.sum = value
    else if (suffix === "_count") one.count = value
    else if (le !== undefined && le !== "+Inf") one.buckets.push({ bound: Number(le), count: value })
  }
  return [...series.values()].map(({ buckets, count, labels, sum }) => {
    const sorted = buckets.toSorted((a, b) => a.bound - b.bound)
    const upTo = [...sorted.map((bucket) => bucket.count), count]
    return {
      ...times,
      attributes: attributesOf(labels),
      count: String(count),
      sum,
      explicitBounds: sorted.map(({ bound }) => bound),
      bucketCounts: upTo.map((all, index) => String(Math.max(0, all - (upTo[index - 1] ?? 0))))
    }
  })
}

const metricOf = ({ help, name, samples, type }: Family, times: object): object => {
  const described = { name, description: help }
  if (type === "histogram") {
    const dataPoints = histogramPoints(samples, times)
    return { ...described, histogram: { dataPoints, aggregationTemporality: cumulative } }
  }
  const dataPoints = samples
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels = {}, value }) => ({ ...times, attributes: attributesOf(labels), asDouble: value }))
  return type === "counter"
    ? { ...described, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
    : { ...described, gauge: { dataPoints } }
}

const encodedOf = (body: HttpBody.HttpBody): Encoded => {
  if (body._tag !== "Uint8Array") throw new Error(`OTLP was serialized as ${body._tag}`)
  return { body: body.body, contentType: body.contentType }
}

/** How the three signals are written, in the format of the layer of `OtlpSerialization`. */
export interface OtlpEncoding {
  readonly spans: (spans: ReadonlyArray<Span>) => Encoded
  readonly logs: (entries: ReadonlyArray<LogEntry>) => Encoded
  /** `started` and `now` in Unix milliseconds: from and until when counters count. */
  readonly metrics: (families: ReadonlyArray<Family>, started: number, now: number) => Encoded
}

/** `resource`: the attributes of this process. */
export const otlpEncoding = (
  attributes: Readonly<Record<string, string>>,
  version: string
): Effect.Effect<OtlpEncoding, never, OtlpSerialization> =>
  Effect.map(OtlpSerialization, (serialization: Context.Tag.Service<OtlpSerialization>) => {
    const resource = { attributes: attributesOf(attributes), droppedAttributesCount: 0 }
    const scope = { name: "svc", version }
    return {
      spans: (spans) =>
        encodedOf(
          serialization.traces({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: spans.map(spanOf) }] }] })
        ),
      logs: (entries) =>
        encodedOf(
          serialization.logs({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: entries.map(logOf) }] }] })
        ),
      metrics: (families, started, now) => {
        const times = { startTimeUnixNano: nanoseconds(started), timeUnixNano: nanoseconds(now) }
        const metrics = families.map((family) => metricOf(family, times))
        return encodedOf(serialization.metrics({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] }))
      }
    }
  })
