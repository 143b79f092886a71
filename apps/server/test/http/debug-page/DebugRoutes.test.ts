import * as Http from "node:http"
import { expect, it } from "@effect/vitest"
import { type CallSummary, DebugTokenNotFound, RecordingNotFound } from "@svc/api/calls/Call"
import type { TimelineEvent, TimelineTurn } from "@svc/api/calls/CallTimeline"
import { noLine } from "@svc/api/calls/CallUsage"
import { EventId } from "@svc/api/Ids"
import { callTimeline } from "@svc/api/testing/CallFixtures"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import { type RecordedSources, Timelines } from "@svc/call-engine/record/Timelines"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import { Newest } from "@svc/conversation/CallTimeline"
import { initial } from "@svc/conversation/State"
import { facts } from "@svc/conversation/testing/Script"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { Deferred, Effect, Fiber, Layer, PubSub, Schema, Stream } from "effect"
import { DebugRoutes } from "../../../src/http/debug-page/DebugRoutes.ts"
import { ask } from "../../servers/Client.ts"
import { startTiny } from "../../servers/TinyServer.ts"

const untrusted = `<script>alert("x")</script>`

const call = (change: Partial<CallSummary> = {}): RecordedSources["call"] => ({
  ...callTimeline({}, change).call,
  transcript: [{ role: "user", content: untrusted, timestamp: 1.5 }],
  failure: null,
  warnings: [{ at: 1.5, what: untrusted, reason: "it is none" }],
  warnings_dropped: 0,
  usage: null,
  line: { telephony: "simulated", ...noLine },
  llm_cost: 0
})

const events = new Newest<TimelineEvent>(10)
events.add({ at: 62_345, actor: "tool", what: untrusted, data: { x: untrusted } })
const stages = {
  turn: 0,
  ts: 1,
  llm_ttfb_ms: 120,
  tts_start_ms: 180,
  tts_ttfb_ms: 40,
  response_ms: 300,
  endpointing_ms: 500,
  platform_ms: 2
}
const turns = new Newest<TimelineTurn>(10)
turns.add({
  index: 0,
  role: "assistant",
  text: untrusted,
  started_at: 1000,
  ended_at: 2000,
  interrupted: false,
  stages
})

const serverRequests = [
  {
    event: "tool.call",
    started_at: Date.parse("2026-11-01T09:30:07.250Z"),
    duration_ms: 45,
    status: 502,
    content_type: "text/html",
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

/** What a test changes and counts of the server's one call. */
interface Fixture {
  now: () => RecordedSources["call"]
  reads: number
  /** Ids of the links that work: 1 is `known`, made with a full key, 2 is `narrow`, with a read key. */
  readonly open: Set<number>
  readonly revoked: PubSub.PubSub<number>
}

const fixture = (now: () => RecordedSources["call"]): Effect.Effect<Fixture> =>
  Effect.map(PubSub.unbounded<number>(), (revoked) => ({ now, reads: 0, open: new Set([1, 2]), revoked }))

const numeric = 5
const linkIds: { readonly [token: string]: number } = { known: 1, narrow: 2 }

const serverFor = (state: Fixture) =>
  startTiny({
    plain: Layer.provide(
      Layer.orDie(DebugRoutes),
      Layer.mergeAll(
        Layer.mock(Deliveries, { ofCall: () => Effect.succeed([delivery]) }),
        Layer.mock(DebugLinks, {
          find: (token) => {
            const id = linkIds[token]
            return id === undefined || !state.open.has(id)
              ? new DebugTokenNotFound()
              : Effect.succeed({
                  id,
                  scope: id === 1 ? "full" : "read",
                  call: { id: numeric, public_id: state.now().call_id, project_id: 7 }
                })
          },
          openLinks: () => Effect.sync(() => new Set(state.open)),
          version: () => Effect.sync(() => JSON.stringify(state.now())),
          revocations: PubSub.subscribe(state.revoked)
        }),
        Layer.mock(Timelines, {
          open: () =>
            Effect.succeed({
              read: Effect.sync(() => {
                state.reads += 1
                return {
                  call: state.now(),
                  journal: {
                    state: initial(facts),
                    turns,
                    tools: new Newest<never>(1),
                    provider_requests: new Newest<never>(1),
                    events,
                    isFromOtherVersion: false
                  },
                  pluginOf: () => null,
                  serverRequests,
                  serverRequestsLeftOut: 0
                }
              })
            })
        }),
        Layer.mock(Recordings, {
          fileOf: (callId) =>
            state.now().has_recording && callId === state.now().call_id
              ? Effect.succeed({
                  size: sound.length,
                  read: ({ end, start } = { start: 0, end: sound.length }) => Stream.make(sound.subarray(start, end))
                })
              : Effect.fail(new RecordingNotFound())
        })
      )
    )
  })

/** A server whose one call is what `now` says. */
const serverOf = (now: () => RecordedSources["call"]) => Effect.flatMap(fixture(now), serverFor)

/** Follows the live stream of a link until it ends. */
const follow = (port: number, token = "known") =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const whole = yield* Effect.fork(
      Effect.async<string>((resume) => {
        const request = Http.get({ host: "127.0.0.1", port, path: `/debug/calls/${token}/live` }, (response) => {
          let text = ""
          response.setEncoding("utf8")
          response.on("data", (part: string) => {
            text += part
            Deferred.unsafeDone(begun, Effect.void)
          })
          response.on("end", () => resume(Effect.succeed(text)))
        })
        return Effect.sync(() => request.destroy())
      })
    )
    yield* Deferred.await(begun)
    return whole
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
    expect(text).toContain("502 text/html in 45 ms")
    expect(text).toContain("<code>call.started</code> to example.com/events, attempt 2 ")
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
    const whole = yield* follow(port)
    now = call({ status: "completed", ended_at: "2026-11-01T09:31:00.000Z" })
    const text = yield* Fiber.join(whole)
    const events = text.trim().split("\n\n")
    expect(events.length).toBe(3)
    expect(events[0]).toContain("in-progress")
    expect(events[1]).toContain("completed")
    expect(events[2]).toBe("event: over\ndata: {}")
    expect((yield* ask(port, { path: "/debug/calls/known" })).text).toContain(`data-live="no"`)
  })
)

it.scopedLive("a link made with a read key shows neither prompts nor bodies", () =>
  Effect.gen(function* () {
    const { port } = yield* serverOf(() => call())
    const [full, read] = [
      (yield* ask(port, { path: "/debug/calls/known" })).text,
      (yield* ask(port, { path: "/debug/calls/narrow" })).text
    ]
    const bodies = ["look_up", "&quot;x&quot;: ", "<pre>"]
    expect(bodies.filter((body) => full.includes(body))).toEqual(bodies)
    expect(bodies.filter((body) => read.includes(body))).toEqual([])
    expect(read).toContain("a read key made this link")
    for (const shown of ["+31612345678", "1:02.345", "502 text/html in 45 ms", "tool.call"])
      expect(read).toContain(shown)
    const stream = yield* follow(port, "narrow")
    yield* Fiber.interrupt(stream)
  })
)

it.scopedLive("all who watch a call share one reader, and an unchanged call is not read again", () =>
  Effect.gen(function* () {
    const state = yield* fixture(() => call())
    const { port } = yield* serverFor(state)
    const streams = yield* Effect.all([follow(port), follow(port), follow(port, "narrow")])
    yield* ask(port, { path: "/debug/calls/known" })
    expect(state.reads).toBe(1)
    state.now = () => call({ status: "completed", ended_at: "2026-11-01T09:31:00.000Z" })
    for (const stream of streams) expect(yield* Fiber.join(stream)).toContain("completed")
    expect(state.reads).toBe(2)
  })
)

it.scopedLive("a stream of a revoked link ends at once, with the reason", () =>
  Effect.gen(function* () {
    const state = yield* fixture(() => call())
    const { port } = yield* serverFor(state)
    const stream = yield* follow(port)
    state.open.clear()
    yield* PubSub.publish(state.revoked, numeric)
    const text = yield* Fiber.join(stream)
    expect(text).toContain("This link has ended")
    expect(text.endsWith("event: over\ndata: {}\n\n")).toBe(true)
    for (const path of ["", "/live", "/recording.mp3"]) {
      expect((yield* ask(port, { path: `/debug/calls/known${path}` })).status).toBe(404)
    }
  })
)

it.scopedLive("at most 20 streams follow a call by one link; the next one is told what to do", () =>
  Effect.gen(function* () {
    const { port } = yield* serverOf(() => call())
    const streams = yield* Effect.all(Array.from({ length: 20 }, () => follow(port)))
    const refused = yield* ask(port, { path: "/debug/calls/known/live" })
    expect([refused.status, JSON.parse(refused.text).code, refused.headers["retry-after"]]).toEqual([
      429,
      "RATE_LIMIT_EXCEEDED",
      "30"
    ])
    expect(JSON.parse(refused.text).message).toContain("close one of them")
    yield* Fiber.interrupt(yield* follow(port, "narrow"))
    expect((yield* ask(port, { path: "/debug/calls/known" })).status).toBe(200)
    const [first] = streams
    if (first !== undefined) yield* Fiber.interrupt(first)
    const free = ask(port, { path: "/debug/calls/known/live", method: "HEAD" })
    yield* Effect.repeat(free, { until: ({ status }) => status === 200 })
  })
)
