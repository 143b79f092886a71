import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { makeFailures } from "@svc/providers/RequestFailed"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Effect, Queue } from "effect"
import { setUp } from "../src/testing/TelnyxSetup.ts"
import { answered, commandsOf, frame, heardOn, incomingOf, numbers, tags, until } from "./TestCalls.ts"

const initiated = { call_control_id: "v3:forged", direction: "incoming", state: "parked", ...numbers }

it.scopedLive("a webhook that was forged, or is older than 300 s, gets 403 and makes no call", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const calls = yield* incomingOf(setup)
    const { webhooks, webhookUrl } = setup.carrier
    const forge = (body: string) => body.replace(numbers.from, "+12025550111")
    const statuses = [
      yield* webhooks.send(webhookUrl, "call.initiated", initiated, { forge }),
      yield* webhooks.send(webhookUrl, "call.initiated", initiated, { late: 301 }),
      yield* webhooks.send(webhookUrl, "call.initiated", initiated, { late: -301 })
    ]
    expect(statuses).toEqual([403, 403, 403])
    expect(yield* Queue.size(calls)).toBe(0)
    expect(setup.double.counted("webhooks_refused")).toBe(3)
    expect(yield* webhooks.send(webhookUrl, "call.initiated", initiated, { late: 299 })).toBe(200)
    expect((yield* Queue.take(calls)).from).toBe(numbers.from)
  })
)

it.scopedLive("a webhook that is sent three times makes one call, and one that comes after the hang-up none", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const calls = yield* incomingOf(setup)
    setup.carrier.faults.copies = 3
    const { events, leg, phone } = yield* answered(setup, calls)
    expect(leg.carrierCallId).toBe(phone.id)
    yield* setup.carrier.hangUp(phone)
    yield* until(() => tags(events).includes("Ended hangup"))
    const { webhooks, webhookUrl } = setup.carrier
    const again = { ...initiated, call_control_id: phone.id }
    expect(yield* webhooks.send(webhookUrl, "call.initiated", again)).toBe(200)
    const early = { ...initiated, call_control_id: "v3:early" }
    yield* webhooks.send(webhookUrl, "call.hangup", early)
    expect(yield* webhooks.send(webhookUrl, "call.initiated", early)).toBe(200)
    expect(yield* Queue.size(calls)).toBe(0)
    expect(commandsOf(setup, "answer").length).toBe(1)
    expect(tags(events).filter((tag) => tag.startsWith("Ended"))).toEqual(["Ended hangup"])
  })
)

it.scopedLive("a media socket with a wrong or used token is closed with 1008 and gets nothing", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const calls = yield* incomingOf(setup)
    const { phone } = yield* answered(setup, calls)
    const used = String(phone.streams[0]?.["stream_url"])
    const log = setup.double.host.log
    const failures = makeFailures({ server: "svc", key: undefined, keySetting: "none", log })
    for (const url of [used, used.replace(/token=.*/, "token=wrong"), used.replace(/\?.*/, "")]) {
      const got: Array<string | Uint8Array> = []
      let closed: number | undefined
      const socket = yield* WebSocketClient.open({
        url,
        failures,
        onMessage: (message) => got.push(message),
        onClosed: ({ code }) => {
          closed = code
        }
      })
      socket.send(JSON.stringify({ event: "start", start: { call_control_id: phone.id } }))
      yield* until(() => closed !== undefined)
      expect([closed, got]).toEqual([1008, []])
    }
    expect(phone.state).toBe("answered")
  })
)

it.scopedLive("a stream of another call is closed, and the call does not hear it", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const calls = yield* incomingOf(setup)
    const phone = setup.carrier.dial(numbers)
    const call = yield* Queue.take(calls)
    const other = setup.carrier.dial(numbers)
    yield* Queue.take(calls)
    // The connection of the first call is opened for the second one.
    setup.carrier.faults.intercept = (request, response) => {
      if (!request.path.endsWith(`${phone.id}/actions/answer`)) return false
      Effect.runFork(other.openStream(request.json))
      response.writeHead(200, { "content-type": "application/json" }).end('{"data":{"result":"ok"}}')
      return true
    }
    const answer = yield* Effect.fork(Effect.either(call.answer({ callId: "call_test", formats: [mulaw8k] })))
    yield* until(() => !other.hasStream && other.streams.length === 1)
    expect(answer.unsafePoll()).toBe(null)
  })
)

it.scopedLive(
  "a call that Telnyx does not answer in time is gone, and a 429 or 500 before is repeated with its id",
  () =>
    Effect.gen(function* () {
      const setup = yield* setUp()
      const calls = yield* incomingOf(setup)
      const failures = [
        { status: 429, headers: { "retry-after": "0" } },
        { status: 500, headers: {} }
      ]
      setup.carrier.faults.intercept = ({ path }, response) => {
        const failure = path.endsWith("/answer") ? failures.shift() : undefined
        if (failure === undefined) return false
        response.writeHead(failure.status, failure.headers).end("{}")
        return true
      }
      const { phone } = yield* answered(setup, calls)
      const ids = commandsOf(setup, "answer").map(({ json }) => json["command_id"])
      expect([ids.length, new Set(ids).size]).toEqual([3, 1])
      expect(phone.streams.length).toBe(1)
    })
)

it.scopedLive("the address of the media connection has the port and the path of SVC_BASE_URL", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ basePath: "/voice/svc" })
    const { phone } = yield* answered(setup, yield* incomingOf(setup))
    const [stream] = phone.streams
    const origin = setup.server.origin.replace("http", "ws")
    expect(String(stream?.["stream_url"])).toContain(`${origin}/voice/svc/telephony/telnyx/media?token=`)
    expect(stream).toMatchObject({ stream_bidirectional_mode: "rtp", stream_track: "inbound_track" })
  })
)

it.scopedLive("audio of a call that Telnyx streams as PCMA reaches a PCMU leg converted, and digits count once", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const calls = yield* incomingOf(setup)
    const phone = setup.carrier.dial(numbers)
    const call = yield* Queue.take(calls)
    const { intercept } = setup.carrier.faults
    setup.carrier.faults.intercept = (request, response) => {
      if (!request.path.endsWith("/answer")) return intercept(request, response)
      Effect.runFork(phone.openStream({ ...request.json, stream_codec: "PCMA" }))
      response.writeHead(200, { "content-type": "application/json" }).end('{"data":{"result":"ok"}}')
      return true
    }
    const leg = yield* call.answer({ callId: "call_test", formats: [mulaw8k] })
    const events = heardOn(leg)
    expect(leg.format).toEqual(mulaw8k)
    // Silence of A-law becomes silence of mu-law.
    phone.sendAudio(frame(0xd5))
    phone.press("12")
    yield* until(() => events.length >= 3)
    const audio = events.find((event) => event._tag === "Audio")
    expect(audio?._tag === "Audio" ? audio.payload[0] : undefined).toBe(0xfe)
    yield* Effect.sleep(50)
    expect(tags(events)).toEqual(["Dtmf", "Dtmf"])
  })
)
