import * as Http from "node:http"
import { expect, it } from "@effect/vitest"
import { type Call, DebugTokenNotFound, RecordingNotFound } from "@svc/api/calls/Call"
import { AgentId, CallId, EventId } from "@svc/api/Ids"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import type { ServerRequest } from "@svc/call-engine/agent-server/ServerRequest"
import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import type { CallTimeline } from "@svc/conversation/CallTimeline"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { Deferred, Effect, Layer, Schema, Stream } from "effect"
import { DebugRoutes } from "../../../src/http/debug-page/DebugRoutes.ts"
import { ask } from "../../servers/Client.ts"
import { startTiny } from "../../servers/TinyServer.ts"

const untrusted = `<script>alert("x")</script>`

const call = (change: Partial<Call> = {}): Call => ({
  call_id: Schema.decodeSync(CallId)(`call_${"c".repeat(24)}`),
  agent_id: Schema.decodeSync(AgentId)(`agent_${"a".repeat(24)}`),
  from_number: "+31612345678",
  to_number: "+15550100100",
  status: "in-progress",
  disposition: null,
  ended_reason: null,
  duration_seconds: 0,
  minutes_used: 0,
  rate_per_minute: 0,
  total_cost: 0,
  call_cost: 0,
  recording_cost: 0,
  llm_discount: 0,
  transfer_cost: 0,
  transfer_duration_seconds: 0,
  transferred_to: null,
  has_recording: false,
  recording_enabled: false,
  turn_count: 1,
  tool_call_count: 0,
  tools_called: [untrusted],
  metadata: {},
  ws_unavailable: false,
  extracted_data: {},
  started_at: "2026-11-01T09:30:00.000Z",
  ended_at: null,
  transcript: [{ role: "user", content: untrusted, timestamp: 1.5 }],
  latency_data: {
    turns: [
      {
        turn: 0,
        ts: 1,
        llm_ttfb_ms: 120,
        tts_start_ms: 200,
        tts_ttfb_ms: 80,
        response_ms: 400,
        endpointing_ms: 300,
        platform_ms: 2
      }
    ]
  },
  ...change
})

const timeline: CallTimeline = {
  lines: [{ at: 62_345, actor: "tool", what: untrusted, detail: { x: untrusted } }],
  transcript: [],
  latencies: [],
  warnings: [{ field: untrusted, reason: "it is none" }],
  isFromOtherVersion: false
}

const serverRequests: ReadonlyArray<ServerRequest> = [
  {
    event: "tool.call",
    started_at: Date.parse("2026-11-01T09:30:07.250Z"),
    duration_ms: 45,
    status: 502,
    error: "status 502",
    request: `{"name":"look_up"}`,
    response: untrusted
  }
]

const delivery: DeliveryRecord = {
  id: 1,
  event: "call.started",
  event_id: Schema.decodeSync(EventId)(`whe_${"e".repeat(24)}`),
  url: "https://example.com/events?token=s3cret",
  attempt: 2,
  status_code: 500,
  success: false,
  error: "status 500",
  created_at: "2026-11-01T09:30:31.500Z"
}

const sound = Buffer.from("an MP3, or so")

/** A server whose one call is what `now` says, under the token `known`. */
const serverOf = (now: () => Call) =>
  startTiny({
    plain: Layer.provide(
      DebugRoutes,
      Layer.mergeAll(
        Layer.mock(Deliveries, { ofCall: () => Effect.succeed([delivery]) }),
        Layer.succeed(DebugLinks, {
          of: () => Effect.die("not asked"),
          view: (token) =>
            token === "known"
              ? Effect.sync(() => ({ call: now(), timeline, serverRequests }))
              : Effect.fail(new DebugTokenNotFound())
        }),
        Layer.mock(Recordings, {
          fileOf: (callId) =>
            now().has_recording && callId === now().call_id
              ? Effect.succeed({
                  size: sound.length,
                  read: ({ end, start } = { start: 0, end: sound.length }) => Stream.make(sound.subarray(start, end))
                })
              : Effect.fail(new RecordingNotFound())
        })
      )
    )
  })

it.scopedLive("the debug page shows a call without a key, and escapes text from outside", () =>
  Effect.gen(function* () {
    const { port } = yield* serverOf(() => call())
    const { headers, status, text } = yield* ask(port, { path: "/debug/calls/known" })
    expect(status).toBe(200)
    expect(headers["content-type"]).toBe("text/html; charset=utf-8")
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(headers).toMatchObject({ "referrer-policy": "no-referrer", "cache-control": "no-store" })
    expect(text).toContain("+31612345678")
    expect(text).toContain("1:02.345")
    expect(text).toContain("model&#39;s first token 120 ms")
    expect(text).not.toContain(untrusted)
    expect(text).toContain("0:07.250")
    expect(text).toContain("status 502")
    expect(text).toContain("call.started to example.com/events, attempt 2: ")
    expect(text).not.toContain("s3cret")
    expect(text).toContain("&quot;name&quot;: &quot;look_up&quot;")
    expect(text.match(/<script>/g)).toHaveLength(1)
    expect(text).toContain(`data-live="yes"`)
    expect(text.replace(/xmlns="[^"]*"/g, "")).not.toMatch(/(?:src|href)=/)
  })
)

it.scopedLive("the debug page serves the recording, whole or in part, once it exists", () =>
  Effect.gen(function* () {
    let now = call({ ended_at: "2026-11-01T09:31:00.000Z", recording_enabled: true })
    const { port } = yield* serverOf(() => now)
    const path = "/debug/calls/known/recording.mp3"
    expect((yield* ask(port, { path: "/debug/calls/known" })).text).not.toContain("<audio")
    expect(JSON.parse((yield* ask(port, { path })).text).code).toBe("RECORDING_NOT_FOUND")
    now = { ...now, has_recording: true }
    const { headers, text } = yield* ask(port, { path: "/debug/calls/known" })
    expect(text).toContain(`<audio controls preload="metadata" src="${path}">`)
    expect(headers["content-security-policy"]).toContain("media-src 'self'")
    expect(yield* ask(port, { path })).toMatchObject({ status: 200, text: sound.toString() })
    expect(yield* ask(port, { path, headers: { range: "bytes=3-5" } })).toMatchObject({ status: 206, text: "MP3" })
  })
)

it.scopedLive("an unknown debug token is a 404 for the page, its stream and its recording", () =>
  Effect.gen(function* () {
    const { port } = yield* serverOf(() => call())
    for (const path of ["/debug/calls/other", "/debug/calls/other/live", "/debug/calls/other/recording.mp3"]) {
      const { status, text } = yield* ask(port, { path })
      expect([status, JSON.parse(text).code]).toEqual([404, "DEBUG_TOKEN_NOT_FOUND"])
    }
  })
)

it.scopedLive("the debug stream sends each change of a call, and ends with the call", () =>
  Effect.gen(function* () {
    let now = call()
    const { port } = yield* serverOf(() => now)
    const first = yield* Deferred.make<void>()
    const whole = yield* Effect.fork(
      Effect.async<string>((resume) => {
        const request = Http.get({ host: "127.0.0.1", port, path: "/debug/calls/known/live" }, (response) => {
          let text = ""
          response.setEncoding("utf8")
          response.on("data", (part: string) => {
            text += part
            Deferred.unsafeDone(first, Effect.void)
          })
          response.on("end", () => resume(Effect.succeed(text)))
        })
        return Effect.sync(() => request.destroy())
      })
    )
    yield* Deferred.await(first)
    now = call({ status: "completed", ended_at: "2026-11-01T09:31:00.000Z" })
    const text = yield* whole
    const events = text.trim().split("\n\n")
    expect(events.length).toBe(3)
    expect(events[0]).toContain("in-progress")
    expect(events[1]).toContain("completed")
    expect(events[2]).toBe("event: over\ndata: {}")
    expect((yield* ask(port, { path: "/debug/calls/known" })).text).toContain(`data-live="no"`)
  })
)

it.scopedLive("the debug stream buffers nothing for a client that does not read", () =>
  Effect.gen(function* () {
    let looks = 0
    let over = false
    const large = "x".repeat(20_000_000)
    const { port } = yield* serverOf(() => {
      looks += 1
      return call({
        transcript: [{ role: "user", content: large + (over ? "" : looks), timestamp: 1 }],
        ended_at: over ? "2026-11-01T09:31:00.000Z" : null
      })
    })
    const response = yield* Effect.async<Http.IncomingMessage>((resume) => {
      const request = Http.get({ host: "127.0.0.1", port, path: "/debug/calls/known/live" }, (answer) =>
        resume(Effect.succeed(answer))
      )
      return Effect.sync(() => request.destroy())
    })
    yield* Effect.repeat(Effect.yieldNow().pipe(Effect.delay("50 millis")), { until: () => looks >= 4 })
    over = true
    const length = yield* Effect.async<number>((resume) => {
      let bytes = 0
      response.on("data", (part: Buffer) => {
        bytes += part.length
      })
      response.on("end", () => resume(Effect.succeed(bytes)))
    })
    // What it was sent before it stopped to read, and at most what there was when it went on.
    expect(length).toBeLessThan(2.5 * large.length)
  })
)
