import { describe, expect, it } from "@effect/vitest"
import type { CallEvent, CallLeg, IncomingCall } from "@svc/providers/Telephony"
import { Telephony } from "@svc/providers/Telephony"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { makeSteppedClock } from "@svc/providers/testing/SteppedClock"
import { Effect, Exit, Fiber, Layer, Queue, Scope, Stream, TestClock } from "effect"
import * as BrowserTelephony from "../src/BrowserTelephony.ts"
import { connect, connected, link, openLink, PageSocket } from "./TestPage.ts"

const frame = (label: number) => new Uint8Array(640).fill(label)
const formats = [{ encoding: "pcm16", sampleRate: 16_000 }] as const

/** The plugin with an open link, and the calls that it offers. */
const network = Effect.gen(function* () {
  const double = yield* makeHostDouble({ baseUrl: "https://voice.example.com" })
  openLink(double)
  const context = yield* Layer.build(BrowserTelephony.layer({ host: double.host, origins: [] }))
  const telephony = yield* Effect.provide(Telephony, context)
  const calls = yield* Queue.unbounded<IncomingCall>()
  yield* Effect.forkScoped(Stream.runForEach(telephony.incoming, (call) => Queue.offer(calls, call)))
  const next = Queue.take(calls)
  return { double, telephony, next }
})

/** A page in a call that the engine has answered. */
const answered = Effect.gen(function* () {
  const { next, telephony, ...rest } = yield* network
  const page = yield* connected(telephony)
  const call = yield* next
  call.ringing("call_1")
  const leg = yield* call.answer({ callId: "call_1", formats })
  const events: Array<CallEvent> = []
  leg.listen((event) => {
    events.push(event._tag === "Audio" ? { ...event, payload: event.payload.slice() } : event)
  })
  const resume = (received: number) =>
    connected(telephony, { query: `resume=${page.field("calling", "resume")}&received=${received}` })
  return { ...rest, telephony, page, call, leg, events, resume }
})

const labels = (audio: ReadonlyArray<Uint8Array>) => audio.map((bytes) => bytes[0])
const tags = (events: ReadonlyArray<CallEvent>) =>
  events.map((event) => (event._tag === "Media" ? `Media ${event.on ? "on" : "off"}` : event._tag))
const send = (leg: CallLeg, from: number, to: number) => {
  for (let label = from; label < to; label++) leg.send(frame(label))
}

describe("A call of a web page", () => {
  it.scoped("names its link, and neither number", () =>
    Effect.gen(function* () {
      const { call, page } = yield* answered
      expect(call).toMatchObject({ link, from: null, to: "" })
      expect(page.events).toEqual(["calling", "ringing", "answered"])
      expect(page.field("ringing", "call_id")).toBe("call_1")
    })
  )

  it.scoped("goes on when the page reconnects after 3 s: nothing is lost and nothing comes twice", () =>
    Effect.gen(function* () {
      const { events, leg, page, resume } = yield* answered
      send(leg, 0, 10)
      leg.mark("m")
      // The page had 3 messages and 6 frames when the network went.
      page.ends(1006)
      expect(tags(events)).toEqual(["Media off"])
      yield* TestClock.adjust("3 seconds")
      const again = yield* resume(9)
      expect(tags(events)).toEqual(["Media off", "Media on"])
      expect(labels(again.audio)).toEqual([6, 7, 8, 9])
      expect(again.messages).toEqual([
        { event: "resumed", n: 0 },
        { event: "mark", name: "m" }
      ])
      send(leg, 10, 12)
      expect(labels(again.audio)).toEqual([6, 7, 8, 9, 10, 11])
      again.sends({ event: "mark", name: "m", n: 1 })
      again.sends({ event: "mark", name: "m", n: 1 })
      expect(tags(events)).toEqual(["Media off", "Media on", "Mark"])
    })
  )

  it.scoped("counts as interrupted after 1.5 s of silence of the page, also while its socket is open", () =>
    Effect.gen(function* () {
      const { events, page } = yield* answered
      yield* TestClock.adjust("1400 millis")
      expect(tags(events)).toEqual([])
      yield* TestClock.adjust("350 millis")
      expect(tags(events)).toEqual(["Media off"])
      page.sendsRaw(frame(1))
      expect(tags(events)).toEqual(["Media off", "Media on", "Audio"])
    })
  )

  it.scoped("ends as failed when the page is gone for 10 s, and a page that comes later is told so", () =>
    Effect.gen(function* () {
      const { events, page, resume } = yield* answered
      page.ends(1006)
      yield* TestClock.adjust("9500 millis")
      expect(tags(events)).toEqual(["Media off"])
      yield* TestClock.adjust("1 second")
      expect(events.at(-1)).toMatchObject({ _tag: "Ended", cause: "failed", reason: "the page was gone for 10 s" })
      const late = yield* resume(3)
      expect(late.events).toEqual(["resumed", "ended"])
      expect(late.closedWith).toBe(1000)
      yield* TestClock.adjust("11 seconds")
      expect((yield* resume(3)).closedWith).toBe(4410)
    })
  )

  it.scoped("waits as long for a page that is gone when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      for (const step of [-3_600_000, 3_600_000]) {
        const system = yield* makeSteppedClock
        const { events, page } = yield* Effect.withClock(answered, system.clock)
        page.ends(1006)
        yield* TestClock.adjust("1 second")
        yield* system.step(step)
        yield* TestClock.adjust("8500 millis")
        expect(tags(events)).toEqual(["Media off"])
        yield* TestClock.adjust("1 second")
        expect(events.at(-1)).toMatchObject({ _tag: "Ended", cause: "failed", reason: "the page was gone for 10 s" })
      }
    })
  )

  it.scoped("tells the page that the server stops when the plugin is stopped in a call", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { events, page } = yield* Scope.extend(answered, scope)
      yield* Scope.close(scope, Exit.void)
      expect(page.messages.at(-1)).toEqual({ event: "ended", reason: "shutdown" })
      expect(events.at(-1)).toEqual({ _tag: "Ended", cause: "failed", reason: "the server stopped" })
    })
  )

  it.scoped("ends as a hang-up when the page is left, closed or reloaded", () =>
    Effect.gen(function* () {
      for (const code of [1000, 1001, 1005]) {
        const { events, page } = yield* answered
        page.ends(code)
        expect(events).toEqual([{ _tag: "Ended", cause: "hangup" }])
      }
    })
  )

  it.scoped("is canceled when the page is left before the answer, and not when the engine refuses it", () =>
    Effect.gen(function* () {
      const { next, telephony } = yield* network
      const left = yield* connected(telephony)
      const canceled = yield* Effect.fork((yield* next).canceled)
      left.ends(1001)
      expect(Exit.isSuccess(yield* Fiber.await(canceled))).toBe(true)
      const refused = yield* connected(telephony)
      const call = yield* next
      const never = yield* Effect.fork(call.canceled)
      call.reject("busy", "no slot")
      yield* Effect.yieldNow()
      expect(never.unsafePoll()).toBe(null)
      expect(refused.messages.at(-1)).toEqual({ event: "refused", cause: "busy" })
      expect(refused.closedWith).toBe(1000)
    })
  )

  it.scoped("shows what the agent does once, and its words and latency as they come", () =>
    Effect.gen(function* () {
      const { leg, page } = yield* answered
      leg.show?.({ _tag: "Activity", activity: "thinking" })
      leg.show?.({ _tag: "Activity", activity: "thinking" })
      leg.show?.({ _tag: "Saying", role: "agent", text: "It" })
      leg.show?.({ _tag: "Said", role: "agent", text: "It is." })
      leg.show?.({ _tag: "Latency", ms: 412 })
      expect(page.messages.slice(3)).toEqual([
        { event: "activity", activity: "thinking" },
        { event: "saying", role: "agent", text: "It" },
        { event: "said", role: "agent", text: "It is." },
        { event: "latency", ms: 412 }
      ])
    })
  )
})

describe("A hostile client", () => {
  it.scoped("without an open link is refused before the upgrade, and gets no call", () =>
    Effect.gen(function* () {
      const { double, telephony } = yield* network
      double.links.set("u".repeat(32), "unknown")
      expect(yield* connect(telephony, { token: "x".repeat(32) })).toMatchObject({ status: 404 })
      expect(yield* connect(telephony, { token: "u".repeat(32) })).toMatchObject({ status: 503 })
    })
  )

  it.scoped("on another web page is refused", () =>
    Effect.gen(function* () {
      const { telephony } = yield* network
      const from = (origin: string, host = "127.0.0.1:8787") => connect(telephony, { headers: { origin, host } })
      for (const origin of ["https://evil.example.com", "null", "file://", "http://127.0.0.1:9999"]) {
        expect(yield* from(origin)).toMatchObject({ status: 403 })
      }
      for (const origin of ["https://voice.example.com", "http://127.0.0.1:8787"]) {
        expect(yield* from(origin)).toBeInstanceOf(PageSocket)
      }
    })
  )

  it.scoped("with a wrong key, or the key of another link, gets nothing of a call", () =>
    Effect.gen(function* () {
      const { double, events, page, telephony } = yield* answered
      const other = "o".repeat(32)
      openLink(double, other)
      const key = page.field("calling", "resume")
      for (const options of [
        { query: "resume=guess&received=0" },
        { token: other, query: `resume=${key}&received=0` }
      ]) {
        const socket = yield* connected(telephony, options)
        expect(socket.closedWith).toBe(4410)
        expect(socket.messages).toEqual([])
      }
      // More than was sent, and no number.
      for (const received of ["99", "-1", "x"]) {
        const socket = yield* connected(telephony, { query: `resume=${key}&received=${received}` })
        expect(socket.closedWith).toBe(4410)
      }
      expect(page.closedWith).toBe(undefined)
      expect(events).toEqual([])
    })
  )

  it.scoped("that sends what is no message ends its call as failed", () =>
    Effect.gen(function* () {
      const bad = [
        "no JSON",
        "{}",
        '{"event":"mark"}',
        '{"event":"dtmf","digit":"12","n":1}',
        '{"event":"ack","received":99}',
        `{"event":"mark","name":"${"m".repeat(1000)}","n":1}`,
        new Uint8Array(639),
        new Uint8Array(641),
        new Uint8Array(0)
      ]
      for (const data of bad) {
        const { events, page } = yield* answered
        page.sendsRaw(data)
        expect(page.closedWith).toBe(4400)
        expect(events.map(({ _tag }) => _tag)).toEqual(["Ended"])
        expect(events[0]).toMatchObject({ cause: "failed" })
        page.sendsRaw(frame(1))
        expect(events).toHaveLength(1)
      }
    })
  )

  it.scoped("that floods the call with audio or messages ends it, and one that sends in real time does not", () =>
    Effect.gen(function* () {
      for (const data of [frame(1), '{"event":"ping"}']) {
        const { events, page } = yield* answered
        for (let sent = 0; sent < 700 && page.closedWith === undefined; sent++) page.sendsRaw(data)
        expect(page.closedWith).toBe(4400)
        expect(events.at(-1)).toMatchObject({ _tag: "Ended", cause: "failed", reason: "too many messages" })
      }
      const { events, page } = yield* answered
      for (let second = 0; second < 15; second++) {
        for (let n = 0; n < 50; n++) page.sendsRaw(frame(1))
        yield* TestClock.adjust("1 second")
      }
      expect(events).toHaveLength(750)
    })
  )

  it.scoped("that does not acknowledge what it gets is cut off after 4 s of audio", () =>
    Effect.gen(function* () {
      const { events, leg, page } = yield* answered
      send(leg, 0, 250)
      expect(page.closedWith).toBe(4408)
      expect(page.audio.length).toBeLessThanOrEqual(205)
      expect(tags(events)).toEqual(["Media off"])
      const { leg: other, page: reader } = yield* answered
      for (let label = 0; label < 250; label++) {
        other.send(frame(label))
        reader.sends({ event: "ack", received: reader.counted })
      }
      expect(reader.audio).toHaveLength(250)
      expect(reader.closedWith).toBe(undefined)
    })
  )

  it.scoped("whose calls are refused again and again has to wait", () =>
    Effect.gen(function* () {
      const { next, telephony } = yield* network
      for (let n = 0; n < 20; n++) {
        yield* connected(telephony)
        ;(yield* next).reject("busy", "no slot")
      }
      expect(yield* connect(telephony)).toMatchObject({ status: 429 })
      yield* TestClock.adjust("1 minute")
      expect(yield* connect(telephony)).toBeInstanceOf(PageSocket)
    })
  )
})
