import { describe, expect, it } from "@effect/vitest"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { RejectCause } from "@svc/providers/Telephony"
import { Effect, Either, Exit, Fiber, Scope } from "effect"
import { dialling, makeExchange } from "./Exchange.ts"

const finals = (messages: ReadonlyArray<ServerMessage>) =>
  messages.flatMap((message) => (message.event === "heard" && message.final ? [message.text] : []))

describe("a call", () => {
  it.scoped("rings, is answered, and both sides hear each other", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = exchange.phone()
      phone.says(dialling)
      const incoming = yield* exchange.nextCall
      expect([incoming.from, incoming.to]).toEqual(["+31201234567", "+31207654321"])
      incoming.ringing("call_a")
      incoming.ringing("call_a")
      expect(phone.take()).toEqual([{ event: "ringing" }])
      const call = yield* exchange.answer(incoming, "call_a")
      expect(phone.take()).toEqual([{ event: "answered", call_id: "call_a" }])
      call.speak("How can I help?")
      expect(phone.take()).toEqual([
        { event: "heard", text: "H", final: false },
        { event: "heard", text: "How", final: false },
        { event: "heard", text: "How can", final: false },
        { event: "heard", text: "How can I", final: false },
        { event: "heard", text: "How can I help?", final: true }
      ])
      phone.says({ event: "say", text: "A table, please" })
      exchange.time.advance(3000)
      expect(call.heard).toEqual([{ text: "A table, please", outcome: "ok" }])
    })
  )

  it.scoped("speaks at the pace of life, then half a second of silence, then nothing", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      phone.says({ event: "say", text: "1234567890" })
      expect(call.frames).toBe(1)
      exchange.time.advance(400)
      expect(call.frames).toBeGreaterThanOrEqual(20)
      expect(call.frames).toBeLessThanOrEqual(22)
      exchange.time.advance(5000)
      expect(call.frames).toBe(14 * 3 + 25)
      expect([exchange.clock.size, exchange.time.waiting]).toEqual([0, 0])
    })
  )

  it.scoped("speaks utterances one after the other", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      for (const text of ["one", "two", "three"]) phone.says({ event: "say", text })
      exchange.time.advance(3000)
      expect(call.heard.map(({ text }) => text)).toEqual(["one", "two", "three"])
    })
  )

  it.scoped("cut off by the agent's clear: the caller heard exactly what was played", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      call.speak("Good morning", 3 * 8)
      call.leg.clear()
      expect(phone.take().slice(-2)).toEqual([{ event: "heard", text: "Good mo", final: true }, { event: "clear" }])
      call.speak("Yes?")
      expect(finals(phone.take())).toEqual(["Yes?"])
    })
  )

  it.scoped("cut off by silence: the same", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      call.speak("Good morning", 3 * 5)
      for (let n = 0; n < 10; n++) call.leg.send(new Uint8Array(160).fill(0xff))
      expect(finals(phone.take())).toEqual(["Good"])
    })
  )

  it.scoped("answers marks at once, in their place", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call } = yield* exchange.connect()
      call.leg.mark("a")
      call.leg.clear()
      call.leg.mark("b")
      expect(call.events).toEqual([
        { _tag: "Mark", name: "a", outcome: "played" },
        { _tag: "Mark", name: "b", outcome: "played" }
      ])
    })
  )

  it.scoped("carries keys both ways", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      phone.says({ event: "dtmf", digits: "1*#" })
      expect(call.events).toEqual(["1", "*", "#"].map((digit) => ({ _tag: "Dtmf", digit, source: "signaling" })))
      call.leg.sendDtmf?.("42")
      expect(phone.take()).toEqual([{ event: "dtmf", digits: "42" }])
    })
  )

  it.scoped("delivers what came before there was a listener", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = exchange.phone()
      phone.says(dialling)
      const incoming = yield* exchange.nextCall
      const leg = yield* incoming.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
      const payload = Uint8Array.from({ length: 160 }, (_, n) => n)
      phone.says({ event: "media", payload: Buffer.from(payload).toString("base64") })
      phone.says({ event: "media", payload: Buffer.alloc(160).toString("base64") })
      phone.says({ event: "dtmf", digits: "5" })
      phone.says({ event: "hangup" })
      const events: Array<unknown> = []
      leg.listen((event) => events.push(event))
      expect(events).toEqual([
        { _tag: "Audio", payload },
        { _tag: "Audio", payload: new Uint8Array(160) },
        { _tag: "Dtmf", digit: "5", source: "signaling" },
        { _tag: "Ended", cause: "hangup" }
      ])
    })
  )

  it.scoped("has a withheld number as null", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      for (const from of ["", "anonymous"]) {
        exchange.phone().says({ ...dialling, from })
        expect((yield* exchange.nextCall).from).toBeNull()
      }
    })
  )
})

describe("the end of a call", () => {
  it.scoped.each(["busy", "declined", "unavailable"] as const)("refused as %s before and after ringing", (cause) =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = exchange.phone()
      phone.says(dialling)
      const first = yield* exchange.nextCall
      first.reject(cause)
      expect(phone.take()).toEqual([{ event: "rejected", cause }])
      phone.says(dialling)
      const second = yield* exchange.nextCall
      expect(second.id).not.toBe(first.id)
      second.ringing("call_2")
      second.reject(cause satisfies RejectCause)
      second.reject(cause)
      expect(phone.take()).toEqual([{ event: "ringing" }, { event: "hangup", cause }])
    })
  )

  it.scoped("the agent hangs up: the caller hears what was said and why it ended; the phone can dial again", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      call.speak("Goodbye", 9)
      call.leg.hangup("agent-hangup")
      call.leg.hangup("again")
      expect(phone.take().slice(-2)).toEqual([
        { event: "heard", text: "Go", final: true },
        { event: "hangup", cause: "agent-hangup" }
      ])
      call.speak("Too late")
      call.leg.clear()
      call.leg.mark("m")
      call.leg.sendDtmf?.("1")
      expect([phone.take(), call.events]).toEqual([[], []])
      phone.says(dialling)
      const next = yield* exchange.nextCall
      yield* exchange.answer(next, "call_2")
      expect(phone.take()).toEqual([{ event: "answered", call_id: "call_2" }])
    })
  )

  it.scoped("the caller hangs up, in words or by closing the socket", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const one = yield* exchange.connect()
      one.phone.says({ event: "say", text: "I have to go" })
      one.phone.says({ event: "hangup" })
      const two = yield* exchange.connect()
      two.phone.says({ event: "say", text: "I have to go" })
      two.phone.drops()
      const heard = [one.call.frames, two.call.frames]
      exchange.time.advance(1000)
      for (const { call } of [one, two]) {
        expect(call.events).toEqual([{ _tag: "Ended", cause: "hangup" }])
      }
      expect([one.call.frames, two.call.frames]).toEqual(heard)
      expect(exchange.clock.size).toBe(0)
    })
  )

  it.scoped.each(["offered", "ringing"] as const)("the caller gives up while the call is %s", (state) =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      for (const leave of ["hangup", "close"] as const) {
        const phone = exchange.phone()
        phone.says(dialling)
        const incoming = yield* exchange.nextCall
        if (state === "ringing") incoming.ringing("call_1")
        const canceled = yield* Effect.fork(incoming.canceled)
        yield* Effect.yieldNow()
        expect((yield* Fiber.poll(canceled))._tag).toBe("None")
        phone.take()
        if (leave === "hangup") phone.says({ event: "hangup" })
        else phone.drops()
        yield* Fiber.join(canceled)
        const answer = yield* Effect.either(
          incoming.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
        )
        expect(Either.isLeft(answer)).toBe(true)
        incoming.ringing("call_1")
        incoming.reject("busy")
        expect(phone.take()).toEqual([])
      }
    })
  )

  it.scoped("answered twice, or in a format that the network does not speak: refused", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = exchange.phone()
      phone.says(dialling)
      const alaw = yield* exchange.nextCall
      const error = yield* Effect.flip(
        alaw.answer({ callId: "call_1", formats: [{ encoding: "alaw", sampleRate: 8000 }] })
      )
      expect(error.reason).toMatch(/mu-law/)
      expect(phone.take()).toEqual([{ event: "rejected", cause: "unavailable" }])
      phone.says(dialling)
      const incoming = yield* exchange.nextCall
      yield* exchange.answer(incoming)
      const twice = incoming.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
      expect((yield* Effect.flip(twice)).reason).toMatch(/already/)
    })
  )

  it.scoped("a phone that does not read: the call fails instead of growing", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect({ audio: true })
      phone.buffered = 2_000_000
      call.speak("Hello", 4)
      expect(phone.closedWith).toBe(1013)
      expect(call.events).toEqual([expect.objectContaining({ _tag: "Ended", cause: "failed" })])
      expect(phone.take()).toEqual([])
    })
  )

  it.effect("the network shuts down: calls fail, phones are told, and new ones are refused", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const exchange = yield* Scope.extend(makeExchange, scope)
      const { call, phone } = yield* exchange.connect()
      phone.says({ event: "say", text: "Hello" })
      const late = exchange.phone()
      yield* Scope.close(scope, Exit.void)
      expect(phone.take()).toEqual([{ event: "hangup", cause: "the network was shut down" }])
      expect([phone.closedWith, late.closedWith]).toEqual([1001, 1001])
      expect(call.events).toEqual([{ _tag: "Ended", cause: "failed", reason: "the network was shut down" }])
      expect([exchange.clock.size, exchange.time.waiting]).toEqual([0, 0])
      const after = exchange.phone()
      after.says(dialling)
      expect(after.take()).toEqual([{ event: "rejected", cause: "unavailable" }])
    })
  )

  it.scoped("an engine that hangs up in answer to the end, or within any event, does no harm", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const one = yield* exchange.connect()
      one.call.onEvent(() => one.call.leg.hangup("answering the end"))
      one.phone.says({ event: "hangup" })
      expect(one.phone.take()).toEqual([])
      const two = yield* exchange.connect()
      two.call.onEvent(() => two.call.leg.hangup("enough"))
      two.phone.says({ event: "say", text: "Hello" })
      expect(two.phone.take()).toEqual([{ event: "hangup", cause: "enough" }])
      exchange.time.advance(100)
      expect([two.call.frames, exchange.clock.size]).toEqual([1, 0])
    })
  )
})

describe("many calls", () => {
  it.scoped("do not mix", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const names = Array.from({ length: 20 }, (_, n) => `caller ${n}`)
      const calls = yield* Effect.forEach(names, (name) => exchange.connect({}, `call ${name}`))
      for (const [n, { call, phone }] of calls.entries()) {
        phone.says({ event: "say", text: `I am ${names[n]}` })
        exchange.time.advance(7)
        call.speak(`You are ${names[n]}`)
      }
      exchange.time.advance(5000)
      for (const [n, { call, phone }] of calls.entries()) {
        expect(call.heard).toEqual([{ text: `I am ${names[n]}`, outcome: "ok" }])
        expect(finals(phone.take())).toEqual([`You are ${names[n]}`])
      }
    })
  )

  it.scoped("leave nothing behind, however they end", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const calls = yield* Effect.forEach(Array.from({ length: 500 }), (_, n) => exchange.connect({}, `call_${n}`))
      for (const { phone } of calls) phone.says({ event: "say", text: "Hello" })
      expect(exchange.clock.size).toBe(500)
      exchange.time.advance(100)
      for (const [n, { call, phone }] of calls.entries()) {
        if (n % 3 === 0) phone.says({ event: "hangup" })
        else if (n % 3 === 1) call.leg.hangup("done")
        phone.drops()
      }
      exchange.time.advance(100)
      expect([exchange.clock.size, exchange.time.waiting]).toEqual([0, 0])
      for (const { call } of calls) expect(call.events.length).toBeLessThanOrEqual(1)
    })
  )
})

describe("what was asked for in a call", () => {
  it.scoped("can be read once the engine named the call", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      yield* exchange.connect({}, "call_a")
      expect(yield* exchange.get("call_a")).toEqual({ status: 200, body: { stt: null, tts: null } })
      exchange.requests.record("call_a", { tts: { language: "nl-NL", voice: "Lotte" } })
      expect((yield* exchange.get("call_a")).body).toEqual({ stt: null, tts: { language: "nl-NL", voice: "Lotte" } })
      const unknown = yield* exchange.get("call_b")
      expect(unknown.status).toBe(404)
      expect(unknown.body).toMatchObject({ code: "CALL_NOT_FOUND" })
    })
  )
})
