import * as http from "node:http"
import { Effect, type Scope } from "effect"
import { Inbox } from "./Inbox.ts"
import { decode, type Fields, logsRequest, metricsRequest, tracesRequest } from "./OtlpWire.ts"

/** A request that a collector got, decoded. */
export interface Received {
  readonly signal: "traces" | "metrics" | "logs"
  readonly headers: http.IncomingHttpHeaders
  readonly body: Fields
  /** As it was on the wire. */
  readonly bytes: Buffer
}

/** A span as a collector reads it. Times are nanoseconds. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
}

/** A collector of OTLP over HTTP with protobuf, on loopback. */
export interface OtlpCollector {
  readonly url: string
  readonly inbox: Inbox<Received>
  /** The spans so far, the resource's attributes among theirs. */
  readonly spans: () => ReadonlyArray<CollectedSpan>
  readonly logs: () => ReadonlyArray<{ readonly traceId: string; readonly body: string }>
  readonly metricNames: () => ReadonlySet<string>
}

const requests = { traces: tracesRequest, metrics: metricsRequest, logs: logsRequest } as const

const isSignal = (text: string): text is Received["signal"] => Object.hasOwn(requests, text)

const inner = (fields: Fields, ...path: ReadonlyArray<string>): ReadonlyArray<Fields> =>
  path.reduce<ReadonlyArray<Fields>>(
    (found, name) => found.flatMap((one) => (one[name] ?? []).filter((value) => typeof value === "object")),
    [fields]
  )

const text = (fields: Fields, name: string): string => String(fields[name]?.[0] ?? "")

const attributesOf = (fields: Fields): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    inner(fields, "attributes").map((one) => [text(one, "key"), Object.values(inner(one, "value")[0] ?? {}).flat()[0]])
  )

const spansOf = (body: Fields): ReadonlyArray<CollectedSpan> =>
  inner(body, "resourceSpans").flatMap((resourceSpans) =>
    inner(resourceSpans, "scopeSpans", "spans").map((span) => ({
      traceId: text(span, "traceId"),
      spanId: text(span, "spanId"),
      parentSpanId: text(span, "parentSpanId"),
      name: text(span, "name"),
      start: BigInt(text(span, "start")),
      end: BigInt(text(span, "end")),
      attributes: { ...attributesOf(inner(resourceSpans, "resource")[0] ?? {}), ...attributesOf(span) },
      failed: inner(span, "status")[0]?.["code"]?.[0] === 2n
    }))
  )

/** Starts one that accepts everything; the scope stops it. */
export const start: Effect.Effect<OtlpCollector, never, Scope.Scope> = Effect.gen(function* () {
  const inbox = new Inbox<Received>("the collector")
  const server = http.createServer((req, response) => {
    const chunks: Array<Buffer> = []
    req.on("data", (chunk: Buffer) => chunks.push(chunk))
    req.on("end", () => {
      const signal = /^\/v1\/(\w+)$/.exec(req.url ?? "")?.[1] ?? ""
      const bytes = Buffer.concat(chunks)
      if (!isSignal(signal) || req.headers["content-type"] !== "application/x-protobuf") {
        response.writeHead(400).end()
        return
      }
      inbox.push({ signal, headers: req.headers, bytes, body: decode(bytes, requests[signal]) })
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const of = (signal: Received["signal"]) => inbox.all.filter((one) => one.signal === signal).map(({ body }) => body)
  return {
    url: `http://127.0.0.1:${port}`,
    inbox,
    spans: () => of("traces").flatMap(spansOf),
    logs: () =>
      of("logs")
        .flatMap((body) => inner(body, "resourceLogs", "scopeLogs", "logRecords"))
        .map((log) => ({ traceId: text(log, "traceId"), body: text(inner(log, "body")[0] ?? {}, "stringValue") })),
    metricNames: () =>
      new Set(
        of("metrics")
          .flatMap((body) => inner(body, "resourceMetrics", "scopeMetrics", "metrics"))
          .map((metric) => text(metric, "name"))
      )
  }
})
