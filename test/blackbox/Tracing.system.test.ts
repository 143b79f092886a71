import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as OtlpCollector from "../src/blackbox/OtlpCollector.ts"
import * as PhoneClient from "../src/blackbox/PhoneClient.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const script = {
  rules: [
    { user: "^weather", say: "Let me look.", tool: "weather", arguments: { city: "Berlin" } },
    { tool_result: "weather", say: "It is {{result.sky}}." }
  ],
  otherwise: "Ok {{user}}."
}
const tools = [{ name: "weather", description: "The weather", timeout_seconds: 5 }]

/** The spans of a call, once its trace is complete. */
const traceOf = (collector: OtlpCollector.OtlpCollector, callId: string) =>
  Effect.map(
    eventually(
      `the trace of ${callId}`,
      Effect.sync(() => collector.spans()),
      (spans) => spans.some(({ attributes }) => attributes["svc.call.id"] === callId)
    ),
    (spans) => {
      const traceId = spans.find(({ attributes }) => attributes["svc.call.id"] === callId)?.traceId
      return spans.filter((span) => span.traceId === traceId)
    }
  )

it.scopedLive(
  "without OTEL_EXPORTER_OTLP_ENDPOINT nothing of the export is loaded",
  () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-loaded-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      /** The files that a server loaded, which Node writes when it ends. */
      const loaded = (name: string, env: Readonly<Record<string, string>>) =>
        Effect.gen(function* () {
          const data = { url: yield* TestDatabase.freshUrl }
          const written = join(folder, name)
          const server = yield* ServerProcess.start({ data, env: { ...env, NODE_V8_COVERAGE: written } })
          yield* server.signal("SIGTERM")
          yield* server.exit()
          return readdirSync(written)
            .map((file) => readFileSync(join(written, file), "utf8"))
            .join("\n")
        })
      const otlp = /@effect\/opentelemetry|@opentelemetry|telemetry\/Otlp/
      const without = yield* loaded("without", {})
      expect(without).toContain("apps/server/dist/Server.js")
      expect(without).not.toMatch(otlp)
      expect(yield* loaded("with", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" })).toMatch(otlp)
    }),
  // A server that records what it runs is slow to start and to stop.
  180_000
)

it.scopedLive(
  "with OTEL_EXPORTER_OTLP_ENDPOINT a call has its trace, also when its process was killed; metrics and logs are exported",
  () =>
    Effect.gen(function* () {
      const collector = yield* OtlpCollector.start
      const database = yield* TestDatabase.freshUrl
      const keys = yield* ServerProcess.newKeys
      const options = {
        data: { url: database },
        keys,
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: "x-team=voice%20calls",
          OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
          OTEL_METRIC_EXPORT_INTERVAL: "300"
        }
      }
      const server = yield* ServerProcess.start(options)
      const line = yield* Line.open(server, ({ event }) =>
        event === "call.started"
          ? Line.configuration(script, { tools })
          : { json: event === "tool.call" ? { result: { sky: "Grey" } } : {} }
      )
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("weather")
      yield* phone.hears("It is Grey.")
      phone.hangup()
      yield* CallRecords.settled(server.api, callId)

      const spans = yield* traceOf(collector, callId)
      const byId = new Map(spans.map((span) => [span.spanId, span]))
      expect(byId.size).toBe(spans.length)
      const [root, ...others] = spans.filter(({ parentSpanId }) => parentSpanId === "")
      expect(others).toEqual([])
      expect(root).toMatchObject({
        name: "call",
        failed: false,
        attributes: {
          "service.name": "svc",
          "deployment.environment.name": "test",
          "svc.call.id": callId,
          "svc.agent.id": line.agentId,
          "svc.call.direction": "inbound",
          "svc.call.status": "completed",
          "svc.telephony": "simulated"
        }
      })
      for (const span of spans) {
        expect(span).toMatchObject({ traceId: expect.stringMatching(/^[0-9a-f]{32}$/), failed: false })
        expect(span.spanId).toMatch(/^[0-9a-f]{16}$/)
        expect(span.end).toBeGreaterThanOrEqual(span.start)
        const parent = byId.get(span.parentSpanId)
        if (span === root || parent === undefined) continue
        expect([span.name, span.start >= parent.start]).toEqual([span.name, true])
        expect([span.name, span.end <= parent.end]).toEqual([span.name, true])
      }
      const path = (span: OtlpCollector.CollectedSpan): string => {
        const parent = byId.get(span.parentSpanId)
        return parent === undefined ? span.name : `${path(parent)} > ${span.name}`
      }
      // The model is asked before the caller's turn has ended. A request that was dropped then belongs to no turn.
      const paths = spans.map(path).filter((name) => name !== "call > language-model simulated")
      expect(new Set(paths)).toEqual(
        new Set([
          "call",
          "call > POST call.started",
          "call > POST transcript.updated",
          "call > agent's turn",
          "call > agent's turn > language-model simulated",
          "call > agent's turn > text-to-speech simulated",
          "call > agent's turn > tool weather",
          "call > agent's turn > tool weather > POST tool.call",
          "call > caller's turn",
          "call > speech-to-text simulated"
        ])
      )
      const turns = spans.filter(({ name }) => name === "agent's turn")
      expect(turns.map(({ attributes }) => attributes["svc.turn.index"])).toContain(0n)
      const [model] = spans.filter((span) => path(span) === "call > agent's turn > language-model simulated")
      expect(model?.attributes).toMatchObject({
        "svc.plugin": "simulated",
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": expect.any(BigInt)
      })

      // No words, no telephone numbers, nothing that a body had. Ids have no capitals.
      const wire = collector.inbox.all
        .filter(({ signal }) => signal === "traces")
        .map(({ bytes }) => bytes.toString("utf8"))
      for (const text of wire) expect(text).not.toMatch(/1555\d{7}|Grey|Hello|Berlin|You answer/)
      expect(collector.inbox.all.map(({ headers }) => headers["x-team"])).toContain("voice calls")

      yield* eventually(
        "the metrics",
        Effect.sync(() => collector.metricNames()),
        (names) =>
          ["svc_calls_live", "svc_calls_ended_total", "svc_turn_latency_seconds", "svc_otlp_dropped_total"].every(
            (name) => names.has(name)
          )
      )

      // The call lives on until the process is killed, and the next one exports its trace.
      const second = yield* line.call
      yield* second.phone.hears("Hello.")
      second.phone.say("Hi")
      yield* second.phone.hears("Ok Hi.")
      yield* eventually("the turns", server.api.get(`/v1/calls/${second.callId}`), ({ body }) => {
        return CallRecords.spoken(body).length === 3
      })
      yield* server.signal("SIGKILL")
      yield* server.exit()
      expect(collector.spans().filter(({ attributes }) => attributes["svc.call.id"] === second.callId)).toEqual([])
      const next = yield* ServerProcess.start(options)
      yield* CallRecords.settled(next.api, second.callId)
      const recovered = yield* traceOf(collector, second.callId)
      expect(recovered.filter(({ name }) => name.endsWith(" turn"))).toHaveLength(3)
      expect(recovered.find(({ name }) => name === "call")).toMatchObject({
        failed: true,
        attributes: { "svc.call.status": "failed" }
      })

      // A call that a stop ends is exported before the process is over, and so is the log.
      const caller = yield* PhoneClient.connect(next.url)
      caller.send({ event: "dial", to: line.number, from: Line.caller })
      const last = yield* caller.until("answered")
      yield* caller.hears("Hello.")
      yield* next.signal("SIGTERM")
      yield* next.exit()
      const stopped = collector.spans().find(({ attributes }) => attributes["svc.call.id"] === last.call_id)
      expect(stopped).toMatchObject({ name: "call" })
      expect(collector.logs().map(({ body }) => body)).toContain(
        "Stopping: waiting for requests and calls in progress to end"
      )
    }),
  120_000
)
