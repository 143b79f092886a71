import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { calls, listen, numbers, speak, summary, until } from "./TestCalls.ts"

const isUpdate = (path: string, method: string) => method === "POST" && path.includes("/Calls/")

describe("A call of Twilio with faults", () => {
  it.scopedLive(
    "gets the agent's audio in messages of about 100 ms, without gaps, and marks when they were played",
    () =>
      Effect.gen(function* () {
        const { connect, server } = yield* calls()
        const { call, events, leg } = yield* connect
        yield* speak(leg, 9, 50)
        leg.mark("end")
        yield* until("the mark", () => events.some((event) => event._tag === "Mark" && event.outcome === "played"))
        expect(call.heard().filter((byte) => byte === 9)).toHaveLength(50 * 160)
        expect(call.mediaMessages).toBeLessThanOrEqual(13)
        expect(server.openSockets()).toBe(1)
      })
  )

  it.scopedLive("is taken back by a new stream when its socket breaks, and ends when that breaks too", () =>
    Effect.gen(function* () {
      const { connect, double } = yield* calls()
      const { call, events, leg, tags } = yield* connect
      yield* call.breakStream
      yield* until("the new stream", () => tags().includes("media on"))
      expect([tags(), call.streams]).toEqual([["media off", "media on"], 2])
      yield* speak(leg, 9, 12)
      yield* until("the agent's audio", () => call.heard().includes(9))
      call.sendAudio(new Uint8Array(160).fill(17))
      yield* until("the caller's audio", () => events.some((e) => e._tag === "Audio" && e.payload.includes(17)))
      expect(double.counted("streams_interrupted")).toBe(1)
      yield* call.breakStream
      yield* until("the end", () => tags().includes("ended failed"))
      yield* until("the end at Twilio", () => call.isOver)
      expect(tags()).toEqual(["media off", "media on", "media off", "ended failed"])
    })
  )

  it.scopedLive("gets a new stream by an update when Twilio does not ask what to do", () =>
    Effect.gen(function* () {
      const { carrier, connect } = yield* calls()
      const { call, tags } = yield* connect
      call.forgets = true
      yield* call.breakStream
      yield* until("the new stream", () => tags().includes("media on"))
      expect(
        carrier.requests.filter(
          ({ body, method, path }) => isUpdate(path, method) && body.toString().startsWith("Twiml=")
        )
      ).toHaveLength(1)
      expect(call.isOver).toBe(false)
    })
  )

  it.scopedLive("ends when neither a stop nor a status comes, because Twilio is asked", () =>
    Effect.gen(function* () {
      const { carrier, connect } = yield* calls()
      carrier.webhooks.status = undefined
      const { call, tags } = yield* connect
      // The socket stays open.
      call.status = "completed"
      yield* until("the end", () => tags().includes("ended hangup"))
      expect(tags()).toEqual(["ended hangup"])
    })
  )

  it.scopedLive("gives packets the numbers with which they were sent, whatever their order", () =>
    Effect.gen(function* () {
      const { connect } = yield* calls()
      const { call, events } = yield* connect
      const audio = () => events.flatMap((event) => (event._tag === "Audio" ? [event] : []))
      call.sendAudio(new Uint8Array(160).fill(1))
      call.skipChunk()
      call.sendAudio(new Uint8Array(160).fill(3))
      call.sendAudio(new Uint8Array(160).fill(2), 1)
      // Of another stream.
      call.sendRaw({ event: "media", streamSid: "MZ0", media: { chunk: "4", timestamp: "80", payload: "BAQE" } })
      call.sendAudio(new Uint8Array(160).fill(4))
      yield* until("the packets", () => audio().length === 4)
      expect(audio().map(({ payload, sequence }) => [payload[0], sequence])).toEqual([
        [1, 1],
        [3, 3],
        [2, 2],
        [4, 4]
      ])
    })
  )

  it.scopedLive("is hung up although Twilio answers 429, 500 or not at all", () =>
    Effect.gen(function* () {
      const { carrier, connect } = yield* calls()
      for (const [status, times] of [
        [429, 1],
        [500, 2],
        // Twilio asks what to do when the stream is closed.
        [500, 100]
      ] as const) {
        const { call, leg, tags } = yield* connect
        let failures = 0
        carrier.faults.intercept = ({ method, path }, response) => {
          if (!isUpdate(path, method) || ++failures > times) return false
          response.writeHead(status, { "retry-after": "0.2" }).end()
          return true
        }
        leg.hangup("the end")
        yield* until(`the end after ${status}`, () => call.isOver)
        expect(tags()).toEqual([])
        carrier.faults.intercept = () => false
      }
    })
  )

  it.scopedLive("goes on with the agent when Twilio refuses a transfer", () =>
    Effect.gen(function* () {
      const { carrier, connect } = yield* calls()
      const { call, leg, tags } = yield* connect
      carrier.faults.intercept = ({ method, path }, response) => {
        if (!isUpdate(path, method)) return false
        response.writeHead(400).end('{"code":21219,"message":"The number is not verified"}')
        return true
      }
      leg.transferBlind?.("+12025557777")
      yield* until("the outcome", () => tags().includes("transfer failed"))
      expect(tags()).toEqual(["transfer failed"])
      yield* speak(leg, 9, 12)
      yield* until("the agent's audio", () => call.heard().includes(9))
    })
  )

  it.scopedLive(
    "reports a transfer's ringing, shows our number in a call that we placed, and comes back by a new stream",
    () =>
      Effect.gen(function* () {
        const { carrier, telephony } = yield* calls()
        carrier.addPhone("+12025557001", "answers")
        carrier.addPhone("+12025557002", "declines")
        carrier.answeredBy = "machine_start"
        const call = {
          callId: "call_out",
          to: "+12025557001",
          from: numbers.to,
          formats: telephony.capabilities.formats
        }
        let rings = 0
        const leg = yield* telephony.outbound?.dial(call, { onRinging: () => void rings++ }) ??
          Effect.die("no outbound")
        const events = listen(leg)
        yield* until("the verdict", () => events.some(({ _tag }) => _tag === "Answerer"))
        expect(events.find(({ _tag }) => _tag === "Answerer")).toMatchObject({ verdict: "machine" })
        expect([rings, leg.carrierCallId]).toEqual([1, carrier.callTo("+12025557001")?.sid])
        leg.transferBlind?.("+12025557002")
        yield* until("the outcome", () => events.some((e) => e._tag === "TransferProgress" && e.state === "busy"))
        const told = events.flatMap((e) => (e._tag === "TransferProgress" || e._tag === "Media" ? [summary(e)] : []))
        expect(told.filter((one) => one !== "media off")).toEqual(["transfer ringing", "media on", "transfer busy"])
        expect(carrier.callTo("+12025557002")?.from).toBe(numbers.to)
        leg.hangup("the end")
      })
  )

  it.scopedLive("is transferred although the answer of the destination is not reported, because Twilio is asked", () =>
    Effect.gen(function* () {
      const { carrier, connect } = yield* calls()
      carrier.addPhone("+12025557005", "answers")
      carrier.faults.dropped = (url) => url.includes("/destination")
      const { call, leg, tags } = yield* connect
      leg.transferBlind?.("+12025557005")
      yield* until("the outcome", () => tags().includes("transfer completed"))
      expect(tags()).toEqual(["media off", "transfer completed"])
      const asked = carrier.requests.filter(({ query }) => query.get("ParentCallSid") === call.sid)
      expect([asked.length, call.isOver]).toEqual([1, false])
    })
  )

  it.scopedLive("that we place is placed once when the answer is lost, and found by its status", () =>
    Effect.gen(function* () {
      const { carrier, telephony } = yield* calls()
      carrier.addPhone("+12025557003", "answers")
      carrier.faults.afterwards = ({ method, path }) => method === "POST" && path.endsWith("/Calls.json")
      const call = { callId: "call_out", to: "+12025557003", from: numbers.to, formats: telephony.capabilities.formats }
      const leg = yield* telephony.outbound?.dial(call) ?? Effect.die("no outbound")
      expect(carrier.requests.filter(({ path }) => path.endsWith("/Calls.json"))).toHaveLength(1)
      leg.hangup("the end")
      yield* until("the end at Twilio", () => carrier.callTo("+12025557003")?.isOver === true)
    })
  )

  it.scopedLive("that was given up before Twilio has answered is hung up as soon as its SID is known", () =>
    Effect.gen(function* () {
      const { carrier, telephony } = yield* calls()
      carrier.addPhone("+12025557004", "rings")
      carrier.faults.afterwards = ({ method, path }) => method === "POST" && path.endsWith("/Calls.json")
      const call = { callId: "call_out", to: "+12025557004", from: numbers.to, formats: telephony.capabilities.formats }
      const dialling = yield* Effect.fork(telephony.outbound?.dial(call) ?? Effect.die("no outbound"))
      yield* until("the request", () => carrier.requests.some(({ path }) => path.endsWith("/Calls.json")))
      yield* Fiber.interrupt(dialling)
      yield* until("the end at Twilio", () => carrier.callTo("+12025557004")?.isOver === true)
    })
  )

  it.scopedLive("that we place fails without its SID in a request, when the answer has none or is an error", () =>
    Effect.gen(function* () {
      const { carrier, telephony } = yield* calls()
      const call = { callId: "call_out", to: "+1", from: numbers.to, formats: telephony.capabilities.formats }
      const dial = telephony.outbound?.dial(call) ?? Effect.die("no outbound")
      const statuses = [201, 500]
      carrier.faults.intercept = ({ path }, response) => {
        if (path.endsWith("/Calls.json")) response.writeHead(statuses.shift() ?? 500).end("{}")
        return path.endsWith("/Calls.json")
      }
      const failures = yield* Effect.all([Effect.flip(dial), Effect.flip(dial)], { concurrency: 2 })
      expect(failures.map(({ outcome }) => outcome)).toEqual(["failed", "failed"])
      expect(failures.map(({ reason }) => reason).join()).toContain("Twilio's answer has no sid")
      expect(carrier.requests.filter(({ path }) => path.includes("/Calls/"))).toEqual([])
    })
  )

  it.scopedLive("that we place fails with Twilio's reason and code when it is refused", () =>
    Effect.gen(function* () {
      const { carrier, telephony } = yield* calls()
      carrier.faults.intercept = ({ path }, response) => {
        if (!path.endsWith("/Calls.json")) return false
        response.writeHead(400).end('{"code":21211,"message":"Invalid To phone number"}')
        return true
      }
      const call = { callId: "call_out", to: "+1", from: numbers.to, formats: telephony.capabilities.formats }
      const failure = yield* Effect.flip(telephony.outbound?.dial(call) ?? Effect.die("no outbound"))
      expect(failure).toMatchObject({ outcome: "failed", code: "21211" })
      expect(failure.reason).toContain("Invalid To phone number")
    })
  )
})
