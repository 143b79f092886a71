import { Config, Duration, Option, Redacted } from "effect"

/** What is exported. */
export type Signal = "traces" | "metrics" | "logs"

/** Where and how one signal is sent. */
export interface SignalSettings {
  readonly url: URL
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** Of one request. */
  readonly timeout: Duration.Duration
  readonly protocol: "http/protobuf" | "http/json"
  readonly compression: "gzip" | "none"
}

/** The variables `OTEL_…`. A signal that is not there is not exported. */
export interface TelemetrySettings {
  readonly signals: { readonly [S in Signal]?: SignalSettings }
  /** Attributes of the resource; `service.name` is one of them. */
  readonly resource: Readonly<Record<string, string>>
  /** The share of calls that have a trace, from 0 to 1. */
  readonly sampled: number
  readonly metricInterval: Duration.Duration
}

/** A variable for one signal; without it, the one for all of them. */
const either = <A>(
  name: (part: string) => string,
  signal: Signal,
  read: (name: string) => Config.Config<A>
): Config.Config<Option.Option<A>> =>
  Config.map(
    Config.all([Config.option(read(name(`${signal.toUpperCase()}_`))), Config.option(read(name("")))]),
    ([own, ofAll]) => Option.orElse(own, () => ofAll)
  )

const otlp =
  (what: string) =>
  (part: string): string =>
    `OTEL_EXPORTER_OTLP_${part}${what}`

const isHttp = (text: string): boolean => URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol)

const address = (name: string): Config.Config<URL> =>
  Config.string(name).pipe(
    Config.validate({ message: "must be a URL that begins with http:// or https://", validation: isHttp }),
    Config.map((text) => new URL(text))
  )

/** The address of a signal is used as it is; that of all signals is the base of their paths. */
const urlOf = (signal: Signal): Config.Config<Option.Option<URL>> =>
  either(otlp("ENDPOINT"), signal, (name) =>
    Config.map(address(name), (url) => {
      if (name !== otlp("ENDPOINT")("")) return url
      const below = new URL(url)
      below.pathname = `${below.pathname.replace(/\/$/, "")}/v1/${signal}`
      return below
    })
  )

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    // A lone percent sign: it is no text of this form.
    return undefined
  }
}

/** `name=value,name=value`, percent-encoded; undefined: it is not of this form. */
export const pairs = (text: string): ReadonlyArray<readonly [string, string]> | undefined => {
  const read = text
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair) => {
      const [, name, value] = /^\s*([^=\s]+)\s*=(.*)$/s.exec(pair) ?? []
      const plain = value === undefined ? undefined : decoded(value.trim())
      return name === undefined || plain === undefined ? undefined : ([name, plain] as const)
    })
  return read.every((pair) => pair !== undefined) ? read : undefined
}

const arePairs = (text: string): boolean => pairs(text) !== undefined

const list = (name: string): Config.Config<ReadonlyArray<readonly [string, string]>> =>
  Config.string(name).pipe(
    Config.validate({ message: "must be name=value, separated by commas, percent-encoded", validation: arePairs }),
    Config.map((text) => pairs(text) ?? [])
  )

/** A header's name and value as HTTP accepts them (RFC 9110, section 5). */
const isHeader = (text: string): boolean =>
  (pairs(text) ?? [["", ""]]).every(([name, value]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t -~]*$/.test(value))

const headers = (name: string): Config.Config<SignalSettings["headers"]> =>
  Config.string(name).pipe(
    Config.validate({ message: "must be name=value, separated by commas, percent-encoded", validation: isHeader }),
    Config.map((text) =>
      Object.fromEntries((pairs(text) ?? []).map(([key, value]) => [key.toLowerCase(), Redacted.make(value)]))
    )
  )

const milliseconds = (name: string): Config.Config<Duration.Duration> =>
  Config.integer(name).pipe(
    Config.validate({ message: "must be a whole number of milliseconds above 0", validation: (ms) => ms > 0 }),
    Config.map(Duration.millis)
  )

/** A word of these, in any case. */
const oneOf =
  <const A extends string>(values: readonly [A, ...ReadonlyArray<A>], message = `must be ${values.join(" or ")}`) =>
  (name: string): Config.Config<A> => {
    const read = (text: string) => values.find((value) => value === text.trim().toLowerCase())
    return Config.string(name).pipe(
      Config.validate({ message, validation: (text) => read(text) !== undefined }),
      Config.map((text) => read(text) ?? values[0])
    )
  }

const protocol = oneOf(
  ["http/protobuf", "http/json"],
  "must be http/protobuf or http/json: Svc does not export by gRPC, collectors take HTTP at port 4318"
)

const defaults = { headers: {}, timeout: Duration.seconds(10), protocol: "http/protobuf", compression: "none" } as const

const signal = (which: Signal): Config.Config<Option.Option<SignalSettings>> =>
  Config.all({
    exporter: Config.withDefault(oneOf(["otlp", "none"])(`OTEL_${which.toUpperCase()}_EXPORTER`), "otlp" as const),
    url: urlOf(which),
    headers: either(otlp("HEADERS"), which, headers),
    timeout: either(otlp("TIMEOUT"), which, milliseconds),
    protocol: either(otlp("PROTOCOL"), which, protocol),
    compression: either(otlp("COMPRESSION"), which, oneOf(["gzip", "none"]))
  }).pipe(
    Config.map(({ compression, exporter, headers, protocol, timeout, url }) =>
      exporter === "none"
        ? Option.none()
        : Option.map(url, (found) => ({
            url: found,
            headers: Option.getOrElse(headers, () => defaults.headers),
            timeout: Option.getOrElse(timeout, () => defaults.timeout),
            protocol: Option.getOrElse(protocol, () => defaults.protocol),
            compression: Option.getOrElse(compression, () => defaults.compression)
          }))
    )
  )

/** Calls have no parent elsewhere, so each of the samplers `parentbased_…` decides as the one that it names. */
const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

const sampled: Config.Config<number> = Config.all({
  sampler: Config.withDefault(oneOf(samplers)("OTEL_TRACES_SAMPLER"), "parentbased_always_on" as const),
  share: Config.number("OTEL_TRACES_SAMPLER_ARG").pipe(
    Config.validate({ message: "must be a number from 0 to 1", validation: (share) => share >= 0 && share <= 1 }),
    Config.withDefault(1)
  )
}).pipe(
  Config.map(({ sampler, share }) => (sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : share))
)

const resource: Config.Config<Readonly<Record<string, string>>> = Config.all({
  attributes: Config.withDefault(list("OTEL_RESOURCE_ATTRIBUTES"), []),
  service: Config.option(Config.string("OTEL_SERVICE_NAME"))
}).pipe(
  Config.map(({ attributes, service }) => ({
    "service.name": "svc",
    ...Object.fromEntries(attributes),
    ...(Option.isSome(service) ? { "service.name": service.value } : {})
  }))
)

/**
 * The standard variables of OpenTelemetry, of which docs/operations/tracing.md lists those that apply. Undefined: nothing is
 * exported.
 */
export const telemetrySettings: Config.Config<TelemetrySettings | undefined> = Config.all({
  disabled: Config.withDefault(Config.boolean("OTEL_SDK_DISABLED"), false),
  traces: signal("traces"),
  metrics: signal("metrics"),
  logs: signal("logs"),
  resource,
  sampled,
  metricInterval: Config.withDefault(milliseconds("OTEL_METRIC_EXPORT_INTERVAL"), Duration.minutes(1))
}).pipe(
  Config.map(({ disabled, logs, metricInterval, metrics, resource, sampled, traces }) => {
    const signals = {
      ...(Option.isSome(traces) ? { traces: traces.value } : {}),
      ...(Option.isSome(metrics) ? { metrics: metrics.value } : {}),
      ...(Option.isSome(logs) ? { logs: logs.value } : {})
    }
    return disabled || Object.keys(signals).length === 0 ? undefined : { signals, resource, sampled, metricInterval }
  })
)
