import { describe, expect, it } from "@effect/vitest"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { RejectCause } from "@svc/providers/Telephony"
import { Effect, Either, Exit, Fiber, Scope } from "effect"
import { mulaw } from "../src/Law.ts"
import { ToneEncoder } from "../src/ToneSpeech/ToneEncoder.ts"
import { lawFrame } from "../src/ToneSpeech/ToneFrames.ts"
import { dialling, makeTestNetwork } from "./TestNetwork.ts"

const finals = (messages: ReadonlyArray<ServerMessage>) =>
  messages.flatMap((message) => (message.event === "heard" && message.final ? [message.text] : []))

describe("a call", () => {
  it.scoped("rings and is answered, with audio in both directions", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = network.phone()
      phone.sends(dialling)
      const incoming = yield* network.nextCall
      expect([incoming.from, incoming.to]).toEqual(["+31201234567", "+31207654321"])
      incoming.ringing("call_a")
      incoming.ringing("call_a")
      expect(phone.take()).toEqual([{ event: "ringing" }])
      const call = yield* network.answer(incoming, "call_a")
      expect(phone.take()).toEqual([{ event: "answered", call_id: "call_a" }])
      call.speak("How can I help?")
      expect(phone.take()).toEqual([
        { event: "heard", text: "H", final: false },
        { event: "heard", text: "How", final: false },
        { event: "heard", text: "How can", final: false },
        { event: "heard", text: "How can I", final: false },
        { event: "heard", text: "How can I help?", final: true }
      ])
      phone.sends({ event: "say", text: "A table, please" })
      network.time.advance(3000)
      expect(call.heard).toEqual([{ text: "A table, please", outcome: "ok" }])
    })
  )

  it.scoped("say speaks in real time, followed by half a second of silence and then nothing", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      phone.sends({ event: "say", text: "1234567890" })
      expect(call.frames).toBe(1)
      network.time.advance(400)
      expect(call.frames).toBeGreaterThanOrEqual(20)
      expect(call.frames).toBeLessThanOrEqual(22)
      network.time.advance(5000)
      expect(call.frames).toBe(14 * 3 + 25)
      expect([network.clock.size, network.time.scheduled]).toEqual([0, 0])
    })
  )

  it.scoped(
    "the phone hears frames that come at once after a stall when it plays them, and all of them when it is cut",
    () =>
      Effect.gen(function* () {
        const network = yield* makeTestNetwork
        for (const isCut of [false, true]) {
          const { call, phone } = yield* network.connect({}, `call_${isCut}`)
          const encoder = new ToneEncoder("Yes, please")
          const send = () => call.leg.send(lawFrame(mulaw, encoder.next()))
          for (let left = encoder.frames - 5; left > 0; left--) {
            send()
            network.time.advance(20)
          }
          expect(finals(phone.take())).toEqual([])
          network.time.advance(80)
          for (let left = 5; left > 0; left--) send()
          network.time.advance(20)
          expect(phone.take()).toEqual([])
          if (isCut) call.leg.clear()
          else network.time.advance(40)
          expect(finals(phone.take())).toEqual(["Yes, please"])
          call.leg.hangup("normal")
          expect([network.clock.size, phone.take()]).toEqual([0, [{ event: "hangup", cause: "normal" }]])
        }
      })
  )

  it.scoped("digits after frames that came at once reach the phone after what these said", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      const encoder = new ToneEncoder("Yes")
      for (let left = encoder.frames; left > 5; left--) {
        call.leg.send(lawFrame(mulaw, encoder.next()))
        network.time.advance(20)
      }
      network.time.advance(80)
      for (let left = 5; left > 0; left--) call.leg.send(lawFrame(mulaw, encoder.next()))
      phone.take()
      call.leg.sendDtmf?.("12")
      network.time.advance(500)
      expect(phone.take()).toEqual([
        { event: "heard", text: "Yes", final: true },
        { event: "dtmf", digits: "12" }
      ])
    })
  )

  it.scoped("several say messages are spoken in order", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      for (const text of ["one", "two", "three"]) phone.sends({ event: "say", text })
      network.time.advance(3000)
      expect(call.heard.map(({ text }) => text)).toEqual(["one", "two", "three"])
    })
  )

  it.scoped("clear ends heard with exactly the text that was played", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      call.speak("Good morning", 3 * 8)
      call.leg.clear()
      expect(phone.take().slice(-2)).toEqual([{ event: "heard", text: "Good mo", final: true }, { event: "clear" }])
      call.speak("Yes?")
      expect(finals(phone.take())).toEqual(["Yes?"])
    })
  )

  it.scoped("silence ends heard with exactly the text that was played", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      call.speak("Good morning", 3 * 5)
      for (let n = 0; n < 10; n++) call.leg.send(new Uint8Array(160).fill(0xff))
      expect(finals(phone.take())).toEqual(["Good"])
    })
  )

  it.scoped("marks are confirmed at once and in order", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call } = yield* network.connect()
      call.leg.mark("a")
      call.leg.clear()
      call.leg.mark("b")
      expect(call.events).toEqual([
        { _tag: "Mark", name: "a", outcome: "played" },
        { _tag: "Mark", name: "b", outcome: "played" }
      ])
    })
  )

  it.scoped("dtmf is passed on in both directions", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      phone.sends({ event: "dtmf", digits: "1*#" })
      expect(call.events).toEqual(["1", "*", "#"].map((digit) => ({ _tag: "Dtmf", digit, source: "signaling" })))
      call.leg.sendDtmf?.("42")
      expect(phone.take()).toEqual([{ event: "dtmf", digits: "42" }])
    })
  )

  it.scoped("events from before listen are delivered", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = network.phone()
      phone.sends(dialling)
      const incoming = yield* network.nextCall
      const leg = yield* incoming.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
      const payload = Uint8Array.from({ length: 160 }, (_, n) => n)
      phone.sends({ event: "media", payload: Buffer.from(payload).toString("base64") })
      phone.sends({ event: "media", payload: Buffer.alloc(160).toString("base64") })
      phone.sends({ event: "dtmf", digits: "5" })
      phone.sends({ event: "hangup" })
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

  it.scoped("from is null when the number is withheld", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      for (const from of ["", "anonymous"]) {
        network.phone().sends({ ...dialling, from })
        expect((yield* network.nextCall).from).toBeNull()
      }
    })
  )
})

describe("the end of a call", () => {
  it.scoped.each(["busy", "declined", "unavailable"] as const)(
    "reject with %s sends rejected before and hangup after ringing",
    (cause) =>
      Effect.gen(function* () {
        const network = yield* makeTestNetwork
        const phone = network.phone()
        phone.sends(dialling)
        const first = yield* network.nextCall
        first.reject(cause)
        expect(phone.take()).toEqual([{ event: "rejected", cause }])
        phone.sends(dialling)
        const second = yield* network.nextCall
        expect(second.id).not.toBe(first.id)
        second.ringing("call_2")
        second.reject(cause satisfies RejectCause)
        second.reject(cause)
        expect(phone.take()).toEqual([{ event: "ringing" }, { event: "hangup", cause }])
      })
  )

  it.scoped("hangup of the agent sends the last heard text and the cause, and the phone can dial again", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
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
      phone.sends(dialling)
      const next = yield* network.nextCall
      yield* network.answer(next, "call_2")
      expect(phone.take()).toEqual([{ event: "answered", call_id: "call_2" }])
    })
  )

  it.scoped("hangup or a closed socket of the caller emits Ended once", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const one = yield* network.connect()
      one.phone.sends({ event: "say", text: "I have to go" })
      one.phone.sends({ event: "hangup" })
      const two = yield* network.connect()
      two.phone.sends({ event: "say", text: "I have to go" })
      two.phone.disconnects()
      const heard = [one.call.frames, two.call.frames]
      network.time.advance(1000)
      for (const { call } of [one, two]) {
        expect(call.events).toEqual([{ _tag: "Ended", cause: "hangup" }])
      }
      expect([one.call.frames, two.call.frames]).toEqual(heard)
      expect(network.clock.size).toBe(0)
    })
  )

  it.scoped.each(["offered", "ringing"] as const)(
    "canceled completes when the caller leaves while the call is %s",
    (state) =>
      Effect.gen(function* () {
        const network = yield* makeTestNetwork
        for (const leave of ["hangup", "close"] as const) {
          const phone = network.phone()
          phone.sends(dialling)
          const incoming = yield* network.nextCall
          if (state === "ringing") incoming.ringing("call_1")
          const canceled = yield* Effect.fork(incoming.canceled)
          yield* Effect.yieldNow()
          expect((yield* Fiber.poll(canceled))._tag).toBe("None")
          phone.take()
          if (leave === "hangup") phone.sends({ event: "hangup" })
          else phone.disconnects()
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

  it.scoped("a second answer and an unsupported format fail with CallGone", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = network.phone()
      phone.sends(dialling)
      const wide = yield* network.nextCall
      const error = yield* Effect.flip(
        wide.answer({ callId: "call_1", formats: [{ encoding: "pcm16", sampleRate: 16_000 }] })
      )
      expect(error.reason).toMatch(/mu-law and A-law/)
      expect(phone.take()).toEqual([{ event: "rejected", cause: "unavailable" }])
      phone.sends(dialling)
      const incoming = yield* network.nextCall
      yield* network.answer(incoming)
      const twice = incoming.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
      expect((yield* Effect.flip(twice)).reason).toMatch(/already/)
    })
  )

  it.scoped("a phone that does not read its messages loses its call", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect({ audio: true })
      phone.buffered = 2_000_000
      call.speak("Hello", 4)
      expect(phone.closedWith).toBe(1013)
      expect(call.events).toEqual([expect.objectContaining({ _tag: "Ended", cause: "failed" })])
      expect(phone.take()).toEqual([])
    })
  )

  it.effect("when the network shuts down, calls fail, phones receive hangup, and new calls are rejected", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const network = yield* Scope.extend(makeTestNetwork, scope)
      const { call, phone } = yield* network.connect()
      phone.sends({ event: "say", text: "Hello" })
      const late = network.phone()
      yield* Scope.close(scope, Exit.void)
      expect(phone.take()).toEqual([{ event: "hangup", cause: "the network was shut down" }])
      expect([phone.closedWith, late.closedWith]).toEqual([1001, 1001])
      expect(call.events).toEqual([{ _tag: "Ended", cause: "failed", reason: "the network was shut down" }])
      expect([network.clock.size, network.time.scheduled]).toEqual([0, 0])
      const after = network.phone()
      after.sends(dialling)
      expect(after.take()).toEqual([{ event: "rejected", cause: "unavailable" }])
    })
  )

  it.scoped("hangup within any event, Ended included, is safe", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const one = yield* network.connect()
      one.call.onEvent(() => one.call.leg.hangup("answering the end"))
      one.phone.sends({ event: "hangup" })
      expect(one.phone.take()).toEqual([])
      const two = yield* network.connect()
      two.call.onEvent(() => two.call.leg.hangup("enough"))
      two.phone.sends({ event: "say", text: "Hello" })
      expect(two.phone.take()).toEqual([{ event: "hangup", cause: "enough" }])
      network.time.advance(100)
      expect([two.call.frames, network.clock.size]).toEqual([1, 0])
    })
  )
})

describe("many calls", () => {
  it.scoped("stay separate", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const names = Array.from({ length: 20 }, (_, n) => `caller ${n}`)
      const calls = yield* Effect.forEach(names, (name) => network.connect({}, `call ${name}`))
      for (const [n, { call, phone }] of calls.entries()) {
        phone.sends({ event: "say", text: `I am ${names[n]}` })
        network.time.advance(7)
        call.speak(`You are ${names[n]}`)
      }
      network.time.advance(5000)
      for (const [n, { call, phone }] of calls.entries()) {
        expect(call.heard).toEqual([{ text: `I am ${names[n]}`, outcome: "ok" }])
        expect(finals(phone.take())).toEqual([`You are ${names[n]}`])
      }
    })
  )

  it.scoped("leave no timers behind, however they end", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const calls = yield* Effect.forEach(Array.from({ length: 500 }), (_, n) => network.connect({}, `call_${n}`))
      for (const { phone } of calls) phone.sends({ event: "say", text: "Hello" })
      expect(network.clock.size).toBe(500)
      network.time.advance(100)
      for (const [n, { call, phone }] of calls.entries()) {
        if (n % 3 === 0) phone.sends({ event: "hangup" })
        else if (n % 3 === 1) call.leg.hangup("done")
        phone.disconnects()
      }
      network.time.advance(100)
      expect([network.clock.size, network.time.scheduled]).toEqual([0, 0])
      for (const { call } of calls) expect(call.events.length).toBeLessThanOrEqual(1)
    })
  )
})

describe("GET calls/<call_id>", () => {
  it.scoped("returns the speech requests of a call, and 404 for an unknown one", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      yield* network.connect({}, "call_a")
      expect(yield* network.get("call_a")).toEqual({ status: 200, body: { stt: null, tts: null } })
      const tts = { language: "nl-NL", voice: "Lotte", speed: 1.5 }
      network.requests.record("call_a", { tts })
      expect((yield* network.get("call_a")).body).toEqual({ stt: null, tts })
      const unknown = yield* network.get("call_b")
      expect(unknown.status).toBe(404)
      expect(unknown.body).toMatchObject({ code: "CALL_NOT_FOUND" })
    })
  )
})
