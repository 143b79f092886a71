import { ConfigProvider, Duration, Effect, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { describe as describeError } from "../../src/Settings.ts"
import { telemetrySettings } from "../../src/telemetry/TelemetrySettings.ts"

const read = (variables: Readonly<Record<string, string>>) =>
  Effect.runSync(
    Effect.either(
      Effect.withConfigProvider(telemetrySettings, ConfigProvider.fromMap(new Map(Object.entries(variables))))
    )
  )

const settings = (variables: Readonly<Record<string, string>>) => {
  const result = read(variables)
  if (result._tag === "Left") throw new Error(describeError(result.left))
  return result.right
}

const problem = (variables: Readonly<Record<string, string>>): string => {
  const result = read({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", ...variables })
  return result._tag === "Left" ? describeError(result.left) : "none"
}

describe("the settings of OpenTelemetry", () => {
  it.each([
    [{}],
    [{ OTEL_SERVICE_NAME: "calls", OTEL_EXPORTER_OTLP_HEADERS: "a=b" }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_SDK_DISABLED: "true" }],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
        OTEL_TRACES_EXPORTER: "none",
        OTEL_METRICS_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "none"
      }
    ]
  ])("export nothing with %j", (variables) => {
    expect(settings(variables)).toBeUndefined()
  })

  it("have the three signals below OTEL_EXPORTER_OTLP_ENDPOINT, with the standard's defaults", () => {
    const found = settings({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example/otlp/" })
    expect(Object.entries(found?.signals ?? {}).map(([name, { url }]) => [name, url.href])).toEqual([
      ["traces", "https://collector.example/otlp/v1/traces"],
      ["metrics", "https://collector.example/otlp/v1/metrics"],
      ["logs", "https://collector.example/otlp/v1/logs"]
    ])
    expect(found?.signals.traces).toMatchObject({ headers: {}, protocol: "http/protobuf", compression: "none" })
    expect(found?.signals.traces?.timeout).toEqual(Duration.seconds(10))
    expect(found).toMatchObject({ sampled: 1, resource: { "service.name": "svc" } })
  })

  it("take the variables of one signal before those of all", () => {
    const found = settings({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://tempo:4318/in",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YTpi,x-a=1",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "X-Scope=t%2C1",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "500",
      OTEL_LOGS_EXPORTER: "none"
    })
    const { logs, metrics, traces } = found?.signals ?? {}
    const plain = (headers: Readonly<Record<string, Redacted.Redacted>> = {}) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
    expect(traces).toMatchObject({ protocol: "http/json", compression: "gzip", timeout: Duration.millis(500) })
    expect([traces?.url.href, plain(traces?.headers)]).toEqual(["http://tempo:4318/in", { "x-scope": "t,1" }])
    expect(metrics).toMatchObject({ protocol: "http/protobuf", compression: "gzip", timeout: Duration.seconds(10) })
    expect(plain(metrics?.headers)).toEqual({ authorization: "Basic YTpi", "x-a": "1" })
    expect(logs).toBeUndefined()
  })

  it("export one signal alone with its own address", () => {
    const found = settings({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://collector:4318/v1/metrics" })
    expect(Object.keys(found?.signals ?? {})).toEqual(["metrics"])
  })

  it.each([
    ["always_on", "0.5", 1],
    ["parentbased_always_off", "0.5", 0],
    ["traceidratio", "0.25", 0.25],
    ["parentbased_traceidratio", "0.1", 0.1]
  ])("with the sampler %s and the argument %s trace this share: %d", (sampler, share, expected) => {
    const found = settings({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: share
    })
    expect(found?.sampled).toBe(expected)
  })

  it("name the service by OTEL_SERVICE_NAME before OTEL_RESOURCE_ATTRIBUTES", () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=one,deployment.environment.name=a%3Db"
    }
    const second = settings({ ...variables, OTEL_SERVICE_NAME: "two" })
    expect(settings(variables)?.resource).toEqual({ "service.name": "one", "deployment.environment.name": "a=b" })
    expect(second?.resource["service.name"]).toBe("two")
  })

  it.each([
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      /^OTEL_EXPORTER_OTLP_ENDPOINT must be a URL that begins with http/
    ],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /^OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or .* 4318$/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "authorization" }, /^OTEL_EXPORTER_OTLP_HEADERS must be name=value/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=%0d%0ab" }, /^OTEL_EXPORTER_OTLP_HEADERS must be name=value/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: "0" }, /^OTEL_EXPORTER_OTLP_TIMEOUT must be a whole number of milliseconds/],
    [{ OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: "zip" }, /^OTEL_EXPORTER_OTLP_LOGS_COMPRESSION must be gzip or none$/],
    [{ OTEL_TRACES_SAMPLER_ARG: "2" }, /^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1$/],
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, /^OTEL_TRACES_EXPORTER must be otlp or none$/]
  ])("refuse %j by the name of the variable", (variables, message) => {
    expect(problem(variables)).toMatch(message)
  })
})
