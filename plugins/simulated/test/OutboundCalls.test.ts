import { describe, expect, it } from "@effect/vitest"
import type { Behaviour, ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Effect, Fiber, TestClock } from "effect"
import { type Exchange, makeExchange } from "./Exchange.ts"
import type { FakeSocket } from "./FakeSocket.ts"

const number = "+15550100100"

const registered = (exchange: Exchange, behaviour: Behaviour, ring_ms?: number): FakeSocket => {
  const phone = exchange.phone()
  phone.says({ event: "register", numbers: [number], behaviour, ...(ring_ms === undefined ? {} : { ring_ms }) })
  expect(phone.take()).toEqual([{ event: "registered", numbers: [number] }])
  return phone
}

const refOf = (messages: ReadonlyArray<ServerMessage>): string => {
  const incoming = messages.find((message) => message.event === "incoming")
  return incoming?.event === "incoming" ? incoming.call_ref : expect.fail(`no incoming in ${JSON.stringify(messages)}`)
}

const finals = (messages: ReadonlyArray<ServerMessage>) =>
  messages.flatMap((message) => (message.event === "heard" && message.final ? [message.text] : []))

/** How a call to a number ends that is not answered, and after how long it does. */
const outcomeOf = (behaviour: Behaviour | undefined, ms: number) =>
  Effect.gen(function* () {
    const exchange = yield* makeExchange
    if (behaviour !== undefined) registered(exchange, behaviour)
    const dialled = yield* Effect.fork(Effect.flip(exchange.dial(number)))
    yield* TestClock.adjust(ms)
    const exit = dialled.unsafePoll()
    return exit?._tag === "Success" ? exit.value.outcome : "under way"
  })

describe("a call of the engine to a number", () => {
  it.scoped("that answers connects after ring_ms, and both sides hear each other", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = registered(exchange, "answer", 500)
      const dialled = yield* Effect.fork(exchange.dial(number, "call_7"))
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
      phone.says({ event: "say", text: "Hello?" })
      phone.says({ event: "dtmf", digits: "1" })
      exchange.time.advance(2000)
      expect(call.heard).toEqual([{ text: "Hello?", outcome: "ok" }])
      phone.says({ event: "hangup" })
      expect(call.events).toEqual([
        { _tag: "Dtmf", digit: "1", source: "signaling" },
        { _tag: "Ended", cause: "hangup" }
      ])
    })
  )

  it.scoped("that nobody has, is busy, declines or does not answer says so", () =>
    Effect.gen(function* () {
      expect(yield* outcomeOf(undefined, 0)).toBe("failed")
      expect(yield* outcomeOf("busy", 0)).toBe("busy")
      expect(yield* outcomeOf("reject", 199)).toBe("under way")
      expect(yield* outcomeOf("reject", 200)).toBe("rejected")
      expect(yield* outcomeOf("no-answer", 600_000)).toBe("under way")
    })
  )

  it.scoped("rings until the engine gives up, and the phone is told", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = registered(exchange, "no-answer")
      const dialled = yield* Effect.fork(exchange.dial(number))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.interrupt(dialled)
      expect(phone.take().map(({ event }) => event)).toEqual(["incoming", "hangup"])
    })
  )

  it.scoped("waits for the phone's own answer or refusal when it is manual", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = registered(exchange, "manual")
      const first = yield* Effect.fork(Effect.flip(exchange.dial(number)))
      yield* TestClock.adjust("30 seconds")
      phone.says({ event: "answer", call_ref: "other" })
      expect(phone.take().at(-1)).toEqual({
        event: "error",
        message: "answer.call_ref: no such call rings here"
      })
      const again = yield* Effect.fork(exchange.dial(number))
      yield* TestClock.adjust(0)
      const second = refOf(phone.take())
      phone.says({ event: "answer", call_ref: second })
      const call = yield* Fiber.join(again)
      call.leg.hangup("done")
      expect(phone.take().map(({ event }) => event)).toEqual(["answered", "hangup"])
      yield* Fiber.interrupt(first)
    })
  )

  it.scoped("tells the cause of a refusal", () =>
    Effect.gen(function* () {
      for (const [cause, outcome] of [
        ["busy", "busy"],
        ["no-answer", "no-answer"],
        ["no, thanks", "rejected"],
        [undefined, "rejected"]
      ] as const) {
        const exchange = yield* makeExchange
        const phone = registered(exchange, "manual")
        const dialled = yield* Effect.fork(Effect.flip(exchange.dial(number)))
        yield* TestClock.adjust(0)
        const call_ref = refOf(phone.take())
        phone.says({ event: "reject", call_ref, ...(cause === undefined ? {} : { cause }) })
        expect((yield* Fiber.join(dialled)).outcome).toBe(outcome)
      }
    })
  )

  it.scoped("whose phone has a call already is busy, also for two at once", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = registered(exchange, "answer")
      const both = yield* Effect.fork(
        Effect.all([Effect.either(exchange.dial(number)), Effect.either(exchange.dial(number))], { concurrency: 2 })
      )
      yield* TestClock.adjust(200)
      expect((yield* Fiber.join(both)).map(({ _tag }) => _tag).sort()).toEqual(["Left", "Right"])
      expect((yield* Effect.flip(exchange.dial(number))).outcome).toBe("busy")
      phone.says({ event: "hangup" })
      const third = yield* Effect.fork(exchange.dial(number))
      yield* TestClock.adjust(200)
      yield* Fiber.join(third)
    })
  )

  it.scoped("fails when the phone goes away while it rings, and when it is gone", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = registered(exchange, "manual")
      const dialled = yield* Effect.fork(Effect.flip(exchange.dial(number)))
      yield* TestClock.adjust(0)
      phone.drops()
      expect((yield* Fiber.join(dialled)).reason).toBe("the phone is gone")
      expect((yield* Effect.flip(exchange.dial(number))).reason).toBe(`nobody has the number ${number}`)
    })
  )

  it.scoped("with a voicemail hears its greeting and a beep of 1 kHz, and leaves a message", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const phone = registered(exchange, "voicemail")
      const dialled = yield* Effect.fork(exchange.dial(number, "call_8"))
      yield* TestClock.adjust(200)
      const call = yield* Fiber.join(dialled)
      const frames: Array<Uint8Array> = []
      call.onEvent((event) => {
        if (event._tag === "Audio") frames.push(new Uint8Array(event.payload))
      })
      exchange.time.advance(20_000)
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
})

describe("a registration", () => {
  it.scoped("takes the place of an earlier one", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      registered(exchange, "answer")
      registered(exchange, "busy")
      expect((yield* Effect.flip(exchange.dial(number))).outcome).toBe("busy")
    })
  )
})
