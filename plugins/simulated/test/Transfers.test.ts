import { describe, expect, it } from "@effect/vitest"
import type { Behaviour } from "@svc/providers/SimulatedNetwork"
import type { CallEvent } from "@svc/providers/Telephony"
import { Effect, TestClock } from "effect"
import { makeExchange } from "./Exchange.ts"

const target = "+15550100200"

/** A call whose caller is transferred to a number, which is registered by another phone. */
const transferred = (behaviour: Behaviour | undefined) =>
  Effect.gen(function* () {
    const exchange = yield* makeExchange
    const other = exchange.phone()
    if (behaviour !== undefined) other.says({ event: "register", numbers: [target], behaviour })
    other.take()
    const { call, phone } = yield* exchange.connect()
    call.leg.transferBlind?.(target)
    yield* TestClock.adjust(0)
    return { exchange, other, call, phone }
  })

const story = (events: ReadonlyArray<CallEvent>): ReadonlyArray<string> =>
  events.map((event) =>
    event._tag === "TransferProgress" ? event.state : event._tag === "Ended" ? `ended ${event.cause}` : event._tag
  )

describe("a transfer", () => {
  it.scoped("to a number that answers takes the caller there, and ends the call a second later", () =>
    Effect.gen(function* () {
      const { call, exchange, other, phone } = yield* transferred("answer")
      expect(story(call.events)).toEqual(["ringing"])
      yield* TestClock.adjust(200)
      expect(story(call.events)).toEqual(["ringing", "completed"])
      expect(phone.take()).toEqual([{ event: "transferred", destination: target }])
      phone.says({ event: "say", text: "Hello?" })
      exchange.time.advance(2000)
      call.speak("Nobody hears this")
      expect(call.heard).toEqual([])
      expect(phone.take()).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(story(call.events)).toEqual(["ringing", "completed", "ended hangup"])
      expect(phone.take().map(({ event }) => event)).toEqual(["hangup"])
      expect(other.take().map(({ event }) => event)).toEqual(["incoming"])
    })
  )

  it.scoped("to a phone lasts until one of the two hangs up, and they hear each other", () =>
    Effect.gen(function* () {
      for (const first of ["caller", "destination", "engine"] as const) {
        const { call, other, phone } = yield* transferred("manual")
        const [incoming] = other.take()
        other.says({ event: "answer", call_ref: incoming?.event === "incoming" ? incoming.call_ref : "" })
        yield* TestClock.adjust("1 minute")
        expect(other.take()).toEqual([{ event: "answered", call_id: "call_1" }])
        phone.take()
        phone.says({ event: "say", text: "Is this sales?" })
        other.says({ event: "say", text: "It is." })
        expect(other.take()).toEqual([{ event: "heard", text: "Is this sales?", final: true }])
        expect(phone.take()).toEqual([{ event: "heard", text: "It is.", final: true }])
        if (first === "caller") phone.says({ event: "hangup" })
        if (first === "destination") other.says({ event: "hangup" })
        if (first === "engine") call.leg.hangup("api")
        const ended = first === "engine" ? [] : ["ended hangup"]
        expect(story(call.events)).toEqual(["ringing", "completed", ...ended])
        expect(phone.take().map(({ event }) => event)).toEqual(first === "caller" ? [] : ["hangup"])
        expect(other.take().map(({ event }) => event)).toEqual(first === "destination" ? [] : ["hangup"])
      }
    })
  )

  it.scoped("that fails says why, and the caller is with the agent as before", () =>
    Effect.gen(function* () {
      for (const [behaviour, ms, progress] of [
        [undefined, 0, ["failed"]],
        ["busy", 0, ["busy"]],
        ["reject", 200, ["ringing", "rejected"]],
        ["no-answer", 20_000, ["ringing", "no-answer"]]
      ] as const) {
        const { call, exchange, phone } = yield* transferred(behaviour)
        yield* TestClock.adjust(ms)
        expect(story(call.events)).toEqual(progress)
        phone.says({ event: "say", text: "Still here" })
        exchange.time.advance(2000)
        expect(call.heard.map(({ text }) => text)).toEqual(["Still here"])
        call.speak("So am I.")
        expect(phone.take().some((m) => m.event === "heard" && m.final && m.text === "So am I.")).toBe(true)
        call.leg.transferBlind?.(target)
        yield* TestClock.adjust(0)
        expect(call.events.length).toBeGreaterThan(progress.length)
      }
    })
  )

  it.scoped("rings in vain when the caller hangs up: the destination is told", () =>
    Effect.gen(function* () {
      const { call, other, phone } = yield* transferred("no-answer")
      phone.says({ event: "hangup" })
      yield* TestClock.adjust("1 minute")
      expect(story(call.events)).toEqual(["ringing", "ended hangup"])
      expect(other.take().map(({ event }) => event)).toEqual(["incoming", "hangup"])
    })
  )

  it.scoped("is asked for once: a second one while it is under way changes nothing", () =>
    Effect.gen(function* () {
      const { call, other } = yield* transferred("no-answer")
      call.leg.transferBlind?.("+15550100999")
      yield* TestClock.adjust("20 seconds")
      expect(story(call.events)).toEqual(["ringing", "no-answer"])
      expect(other.take().map(({ event }) => event)).toEqual(["incoming", "hangup"])
    })
  )

  it.scoped("to a number of the caller's own phone works", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      phone.says({ event: "register", numbers: [target], behaviour: "answer", ring_ms: 0 })
      call.leg.transferBlind?.(target)
      yield* TestClock.adjust("1 second")
      expect(story(call.events)).toEqual(["ringing", "completed", "ended hangup"])
      expect(phone.take().map(({ event }) => event)).toEqual(["registered", "incoming", "transferred", "hangup"])
    })
  )
})
