import { describe, expect, it } from "@effect/vitest"
import type { Behaviour, ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Effect, Fiber, TestClock } from "effect"
import type { FakeSocket } from "./FakeSocket.ts"
import { makeTestNetwork, type TestNetwork } from "./TestNetwork.ts"

const number = "+15550100100"

const registered = (network: TestNetwork, behaviour: Behaviour, ring_ms?: number): FakeSocket => {
  const phone = network.phone()
  phone.sends({ event: "register", numbers: [number], behaviour, ...(ring_ms === undefined ? {} : { ring_ms }) })
  expect(phone.take()).toEqual([{ event: "registered", numbers: [number] }])
  return phone
}

const refOf = (messages: ReadonlyArray<ServerMessage>): string => {
  const incoming = messages.find((message) => message.event === "incoming")
  return incoming?.event === "incoming" ? incoming.call_ref : expect.fail(`no incoming in ${JSON.stringify(messages)}`)
}

const finals = (messages: ReadonlyArray<ServerMessage>) =>
  messages.flatMap((message) => (message.event === "heard" && message.final ? [message.text] : []))

/** The outcome, after `ms` milliseconds, of a call that is not answered. */
const outcomeOf = (behaviour: Behaviour | undefined, ms: number) =>
  Effect.gen(function* () {
    const network = yield* makeTestNetwork
    if (behaviour !== undefined) registered(network, behaviour)
    const dialled = yield* Effect.fork(Effect.flip(network.dial(number)))
    yield* TestClock.adjust(ms)
    const exit = dialled.unsafePoll()
    return exit?._tag === "Success" ? exit.value.outcome : "ringing"
  })

describe("an outbound call", () => {
  it.scoped("to a number with behaviour answer connects after ring_ms, with audio in both directions", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = registered(network, "answer", 500)
      const dialled = yield* Effect.fork(network.dial(number, "call_7"))
      yield* TestClock.adjust(499)
      expect(phone.take()).toEqual([
        { event: "incoming", call_ref: expect.any(String), from: "+31207654321", to: number }
      ])
      expect(dialled.unsafePoll()).toBeNull()
      yield* TestClock.adjust(1)
      const call = yield* Fiber.join(dialled)
      expect(phone.take()).toEqual([{ event: "answered", call_id: "call_7" }])
      call.speak("Good morning")
      expect(finals(phone.take())).toEqual(["Good morning"])
      phone.sends({ event: "say", text: "Hello?" })
      phone.sends({ event: "dtmf", digits: "1" })
      network.time.advance(2000)
      expect(call.heard).toEqual([{ text: "Hello?", outcome: "ok" }])
      phone.sends({ event: "hangup" })
      expect(call.events).toEqual([
        { _tag: "Dtmf", digit: "1", source: "signaling" },
        { _tag: "Ended", cause: "hangup" }
      ])
    })
  )

  it.scoped("fails with the outcome of the number's behaviour", () =>
    Effect.gen(function* () {
      expect(yield* outcomeOf(undefined, 0)).toBe("failed")
      expect(yield* outcomeOf("busy", 0)).toBe("busy")
      expect(yield* outcomeOf("reject", 199)).toBe("ringing")
      expect(yield* outcomeOf("reject", 200)).toBe("rejected")
      expect(yield* outcomeOf("no-answer", 600_000)).toBe("ringing")
    })
  )

  it.scoped("rings until dial is interrupted, and the phone receives hangup", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = registered(network, "no-answer")
      const dialled = yield* Effect.fork(network.dial(number))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.interrupt(dialled)
      expect(phone.take().map(({ event }) => event)).toEqual(["incoming", "hangup"])
    })
  )

  it.scoped("to a number with behaviour manual waits for answer or reject", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = registered(network, "manual")
      const first = yield* Effect.fork(Effect.flip(network.dial(number)))
      yield* TestClock.adjust("30 seconds")
      phone.sends({ event: "answer", call_ref: "other" })
      expect(phone.take().at(-1)).toEqual({
        event: "error",
        message: "answer.call_ref: no such call rings here"
      })
      const again = yield* Effect.fork(network.dial(number))
      yield* TestClock.adjust(0)
      const second = refOf(phone.take())
      phone.sends({ event: "answer", call_ref: second })
      const call = yield* Fiber.join(again)
      call.leg.hangup("done")
      expect(phone.take().map(({ event }) => event)).toEqual(["answered", "hangup"])
      yield* Fiber.interrupt(first)
    })
  )

  it.scoped("fails with the outcome that the cause of reject selects", () =>
    Effect.gen(function* () {
      for (const [cause, outcome] of [
        ["busy", "busy"],
        ["no-answer", "no-answer"],
        ["no, thanks", "rejected"],
        [undefined, "rejected"]
      ] as const) {
        const network = yield* makeTestNetwork
        const phone = registered(network, "manual")
        const dialled = yield* Effect.fork(Effect.flip(network.dial(number)))
        yield* TestClock.adjust(0)
        const call_ref = refOf(phone.take())
        phone.sends({ event: "reject", call_ref, ...(cause === undefined ? {} : { cause }) })
        expect((yield* Fiber.join(dialled)).outcome).toBe(outcome)
      }
    })
  )

  it.scoped("to a phone that already has a call is busy, also when two calls are placed at once", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = registered(network, "answer")
      const both = yield* Effect.fork(
        Effect.all([Effect.either(network.dial(number)), Effect.either(network.dial(number))], { concurrency: 2 })
      )
      yield* TestClock.adjust(200)
      expect((yield* Fiber.join(both)).map(({ _tag }) => _tag).sort()).toEqual(["Left", "Right"])
      expect((yield* Effect.flip(network.dial(number))).outcome).toBe("busy")
      phone.sends({ event: "hangup" })
      const third = yield* Effect.fork(network.dial(number))
      yield* TestClock.adjust(200)
      yield* Fiber.join(third)
    })
  )

  it.scoped("fails when the phone disconnects while it rings, and afterwards", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = registered(network, "manual")
      const dialled = yield* Effect.fork(Effect.flip(network.dial(number)))
      yield* TestClock.adjust(0)
      phone.disconnects()
      expect((yield* Fiber.join(dialled)).reason).toBe("the phone is gone")
      expect((yield* Effect.flip(network.dial(number))).reason).toBe(`nobody has the number ${number}`)
    })
  )

  it.scoped(
    "to a number with behaviour voicemail receives its greeting and beep, and its phone hears the message",
    () =>
      Effect.gen(function* () {
        const network = yield* makeTestNetwork
        const phone = registered(network, "voicemail")
        const dialled = yield* Effect.fork(network.dial(number, "call_8"))
        yield* TestClock.adjust(200)
        const call = yield* Fiber.join(dialled)
        const frames: Array<Uint8Array> = []
        call.onEvent((event) => {
          if (event._tag === "Audio") frames.push(new Uint8Array(event.payload))
        })
        network.time.advance(20_000)
        expect(call.heard.map(({ text }) => text)).toEqual([
          `You have reached the voicemail of ${number}. Please leave a message after the beep.`
        ])
        const [first] = frames.slice(-50)
        const beep = frames.filter((frame) => first !== undefined && Buffer.compare(frame, first) === 0)
        expect(beep.length).toBe(25)
        call.speak("Please call back.")
        expect(finals(phone.take())).toEqual(["Please call back."])
        call.leg.hangup("done")
        expect(phone.take()).toEqual([{ event: "hangup", cause: "done" }])
      })
  )

  it.scoped("reports who answered when the registration has a verdict, verdict_ms after the answer", () =>
    Effect.gen(function* () {
      for (const verdict_ms of [undefined, 4000]) {
        const network = yield* makeTestNetwork
        const phone = network.phone()
        const register = { event: "register", numbers: [number], behaviour: "answer", ring_ms: 0 } as const
        phone.sends({ ...register, verdict: "machine", ...(verdict_ms === undefined ? {} : { verdict_ms }) })
        const dialled = yield* Effect.fork(network.dial(number))
        yield* TestClock.adjust(0)
        const call = yield* Fiber.join(dialled)
        if (verdict_ms !== undefined) {
          yield* TestClock.adjust(verdict_ms - 1)
          expect(call.events).toEqual([])
          yield* TestClock.adjust(1)
        }
        expect(call.events).toEqual([{ _tag: "Answerer", verdict: "machine" }])
        phone.sends({ event: "hangup" })
        phone.sends(register)
        const again = yield* Effect.fork(network.dial(number))
        yield* TestClock.adjust(10_000)
        expect((yield* Fiber.join(again)).events).toEqual([])
      }
    })
  )
})

describe("a registration", () => {
  it.scoped("replaces an earlier registration of the number", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      registered(network, "answer")
      registered(network, "busy")
      expect((yield* Effect.flip(network.dial(number))).outcome).toBe("busy")
    })
  )
})
