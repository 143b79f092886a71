import * as http from "node:http"
import * as net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Logger, Metric, type Scope } from "effect"
import * as OtlpExporter from "../../src/telemetry/OtlpExporter.ts"
import type { SignalSettings } from "../../src/telemetry/TelemetrySettings.ts"

const encode = (items: ReadonlyArray<string>) => ({
  body: new TextEncoder().encode(JSON.stringify(items)),
  contentType: "application/json"
})

const settings = (port: number, change: Partial<SignalSettings> = {}): SignalSettings => ({
  url: new URL(`http://user:secret@127.0.0.1:${port}/v1/traces?key=secret`),
  headers: {},
  timeout: Duration.seconds(10),
  protocol: "http/json",
  compression: "none",
  ...change
})

const options = { encode, every: 0, maxPending: 10, maxBatch: 5 }

/** A server on loopback; the scope stops it. */
const listening = <S extends net.Server>(server: S): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        if (server instanceof http.Server) server.closeAllConnections()
      })
  )

/** A collector with the answers of `answer`, by the number of the request from 0, and the bodies that it got. */
const collector = (answer: (n: number, response: http.ServerResponse) => void) =>
  Effect.gen(function* () {
    const got: Array<string> = []
    let inFlight = 0
    let most = 0
    const server = http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      most = Math.max(most, ++inFlight)
      response.once("close", () => inFlight--)
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        got.push(Buffer.concat(chunks).toString("utf8"))
        answer(got.length - 1, response)
      })
    })
    return { port: yield* listening(server), got, most: () => most }
  })

/** What was counted since then, and the log. */
const counting = Effect.gen(function* () {
  const value = (name: string, labels: Readonly<Record<string, string>>) =>
    Effect.map(Metric.snapshot, (all) =>
      all
        .filter(({ metricKey }) => metricKey.name === name)
        .filter(({ metricKey }) =>
          Object.entries(labels).every(([key, expected]) =>
            metricKey.tags.some((tag) => tag.key === key && tag.value === expected)
          )
        )
        .reduce((sum, { metricState }) => sum + Number("count" in metricState ? metricState.count : 0), 0)
    )
  const read = Effect.all({
    exported: value("svc_otlp_exported_total", { signal: "traces" }),
    full: value("svc_otlp_dropped_total", { signal: "traces", reason: "queue_full" }),
    refused: value("svc_otlp_dropped_total", { signal: "traces", reason: "not_accepted" })
  })
  const before = yield* read
  const since = Effect.map(read, (now) => ({
    exported: now.exported - before.exported,
    full: now.full - before.full,
    refused: now.refused - before.refused
  }))
  return { since }
})

/** Waits in real time: the requests are real. */
const until = (what: () => boolean): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const look = (): void => void (what() ? resume(Effect.void) : setImmediate(look))
    setImmediate(look)
  })

const untilCounts = ({ since }: { readonly since: Effect.Effect<object> }, expected: object) =>
  since.pipe(
    Effect.tap(() => until(() => true)),
    Effect.repeat({ until: (found) => JSON.stringify(found) === JSON.stringify(expected) })
  )

const logged: Array<string> = []
const silent = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message }) => void logged.push(String(message)))
)

describe("the export by OTLP", () => {
  it.scopedLive("sends what was offered in order, in batches, one request at a time", () =>
    Effect.gen(function* () {
      const { got, most, port } = yield* collector((_, response) => response.end())
      const counts = yield* counting
      const sink = yield* OtlpExporter.make("traces", settings(port), options)
      for (const item of ["a", "b", "c", "d", "e", "f", "g"]) sink.offer(item)
      yield* untilCounts(counts, { exported: 7, full: 0, refused: 0 })
      expect(got).toEqual(['["a","b","c","d","e"]', '["f","g"]'])
      expect(most()).toBe(1)
    })
  )

  it.scopedLive("drops the newest and counts them while a collector does not answer, and never waits", () =>
    Effect.gen(function* () {
      const held: Array<http.ServerResponse> = []
      const { got, port } = yield* collector((n, response) => void (n === 0 ? held.push(response) : response.end()))
      const counts = yield* counting
      const sink = yield* OtlpExporter.make("traces", settings(port), options)
      for (let n = 0; n < 5; n++) sink.offer(`${n}`)
      yield* until(() => got.length === 1)
      for (let n = 5; n < 1000; n++) sink.offer(`${n}`)
      // Five are under way, ten wait.
      expect(yield* counts.since).toEqual({ exported: 0, full: 985, refused: 0 })
      for (const response of held) response.end()
      yield* untilCounts(counts, { exported: 15, full: 985, refused: 0 })
      expect(got.slice(0, 2)).toEqual(['["0","1","2","3","4"]', '["5","6","7","8","9"]'])
    })
  )

  it.scopedLive("sends again what a busy collector did not take, after its Retry-After, and says so once", () =>
    Effect.gen(function* () {
      logged.length = 0
      const { got, port } = yield* collector((n, response) => {
        if (n < 3) response.writeHead([429, 503, 504][n] ?? 500, { "retry-after": "0" })
        response.end()
      })
      const counts = yield* counting
      const sink = yield* OtlpExporter.make("traces", settings(port), options)
      sink.offer("a")
      yield* untilCounts(counts, { exported: 1, full: 0, refused: 0 })
      expect(got).toEqual(['["a"]', '["a"]', '["a"]', '["a"]'])
      yield* until(() => logged.length === 2)
      const url = `http://127.0.0.1:${port}/v1/traces`
      expect(logged).toEqual([
        `The traces are not accepted by ${url}: status 429. See svc_otlp_dropped_total.`,
        `The traces are accepted by ${url} again`
      ])
    }).pipe(Effect.provide(silent))
  )

  it.scopedLive("gives up what is still not taken at the fifth time, and goes on with the next", () =>
    Effect.gen(function* () {
      const { got, port } = yield* collector((n, response) =>
        response.writeHead(n < 5 ? 503 : 200, { "retry-after": "0" }).end()
      )
      const counts = yield* counting
      const sink = yield* OtlpExporter.make("traces", settings(port), options)
      sink.offer("a")
      yield* until(() => got.length === 5)
      sink.offer("b")
      yield* untilCounts(counts, { exported: 1, full: 0, refused: 1 })
      expect(got.at(-1)).toBe('["b"]')
    }).pipe(Effect.provide(silent))
  )

  it.scopedLive.each([400, 401, 404, 500, 301])(
    "drops what a collector refuses with status %d, and asks once",
    (status) =>
      Effect.gen(function* () {
        const { got, port } = yield* collector((_, response) => response.writeHead(status, { location: "/" }).end("no"))
        const counts = yield* counting
        const sink = yield* OtlpExporter.make("traces", settings(port), options)
        sink.offer("a")
        yield* untilCounts(counts, { exported: 0, full: 0, refused: 1 })
        expect(got).toEqual(['["a"]'])
      }).pipe(Effect.provide(silent))
  )

  it.scopedLive("reads no more than the beginning of an endless answer", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const { port } = yield* collector((_, response) => {
        response.once("close", () => Deferred.unsafeDone(closed, Effect.void))
        const more = (): void => void (response.destroyed || response.write("x".repeat(16_384), more))
        more()
      })
      const counts = yield* counting
      const sink = yield* OtlpExporter.make("traces", settings(port), options)
      sink.offer("a")
      yield* untilCounts(counts, { exported: 1, full: 0, refused: 0 })
      yield* Deferred.await(closed)
    })
  )

  const bad = {
    "answers what is not HTTP": (socket) => void socket.end("\0\u0001 garbage\r\n\r\n"),
    "closes the connection": (socket) => void socket.destroy(),
    "never answers": () => {}
  } satisfies Readonly<Record<string, (socket: net.Socket) => void>>
  for (const [what, behaviour] of Object.entries(bad)) {
    it.scopedLive(`takes a collector that ${what} as one that is not there, and stops in time`, () =>
      Effect.gen(function* () {
        logged.length = 0
        let connections = 0
        const port = yield* listening(
          net.createServer((socket) => {
            connections++
            socket.on("error", () => {})
            socket.once("data", () => behaviour(socket))
          })
        )
        const stopped = yield* Effect.scoped(
          Effect.gen(function* () {
            const sink = yield* OtlpExporter.make("traces", settings(port, { timeout: Duration.millis(50) }), options)
            sink.offer("a")
            yield* until(() => logged.length > 0)
          })
        ).pipe(Effect.timeoutOption("20 seconds"))
        expect([stopped._tag, connections > 0]).toEqual(["Some", true])
        expect(logged[0]).toMatch(/^The traces are not accepted by http:\/\/127.0.0.1:\d+\/v1\/traces: \S/)
        expect(logged.join(" ")).not.toContain("secret")
      }).pipe(Effect.provide(silent))
    )
  }

  it.scopedLive("sends what is left when the server stops, also what was under way", () =>
    Effect.gen(function* () {
      const { got, port } = yield* collector((n, response) => {
        if (n > 0) response.end()
      })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sink = yield* OtlpExporter.make("traces", settings(port), options)
          sink.offer("a")
          yield* until(() => got.length === 1)
          sink.offer("b")
        })
      )
      expect(got).toEqual(['["a"]', '["a","b"]'])
    })
  )
})
