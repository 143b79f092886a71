import { describe, expect, it } from "@effect/vitest"
import type { Behaviour } from "@svc/providers/SimulatedNetwork"
import type { CallEvent } from "@svc/providers/Telephony"
import { Effect, TestClock } from "effect"
import { makeTestNetwork } from "./TestNetwork.ts"

const target = "+15550100200"

/** A call that is transferred to a number, which another phone has registered with the behaviour. */
const transferred = (behaviour: Behaviour | undefined) =>
  Effect.gen(function* () {
    const network = yield* makeTestNetwork
    const other = network.phone()
    if (behaviour !== undefined) other.sends({ event: "register", numbers: [target], behaviour })
    other.take()
    const { call, phone } = yield* network.connect()
    call.leg.transferBlind?.(target)
    yield* TestClock.adjust(0)
    return { network, other, call, phone }
  })

const summary = (events: ReadonlyArray<CallEvent>): ReadonlyArray<string> =>
  events.map((event) =>
    event._tag === "TransferProgress" ? event.state : event._tag === "Ended" ? `ended ${event.cause}` : event._tag
  )

describe("a transfer", () => {
  it.scoped("to a number with behaviour answer completes, and the call ends a second later", () =>
    Effect.gen(function* () {
      const { call, network, other, phone } = yield* transferred("answer")
      expect(summary(call.events)).toEqual(["ringing"])
      yield* TestClock.adjust(200)
      expect(summary(call.events)).toEqual(["ringing", "completed"])
      expect(phone.take()).toEqual([{ event: "transferred", destination: target }])
      phone.sends({ event: "say", text: "Hello?" })
      network.time.advance(2000)
      call.speak("Nobody hears this")
      expect(call.heard).toEqual([])
      expect(phone.take()).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(summary(call.events)).toEqual(["ringing", "completed", "ended hangup"])
      expect(phone.take().map(({ event }) => event)).toEqual(["hangup"])
      expect(other.take().map(({ event }) => event)).toEqual(["incoming"])
    })
  )

  it.scoped("to a number with behaviour manual connects both phones until one hangs up", () =>
    Effect.gen(function* () {
      for (const first of ["caller", "destination", "engine"] as const) {
        const { call, other, phone } = yield* transferred("manual")
        const [incoming] = other.take()
        other.sends({ event: "answer", call_ref: incoming?.event === "incoming" ? incoming.call_ref : "" })
        yield* TestClock.adjust("1 minute")
        expect(other.take()).toEqual([{ event: "answered", call_id: "call_1" }])
        phone.take()
        phone.sends({ event: "say", text: "Is this sales?" })
        other.sends({ event: "say", text: "It is." })
        expect(other.take()).toEqual([{ event: "heard", text: "Is this sales?", final: true }])
        expect(phone.take()).toEqual([{ event: "heard", text: "It is.", final: true }])
        if (first === "caller") phone.sends({ event: "hangup" })
        if (first === "destination") other.sends({ event: "hangup" })
        if (first === "engine") call.leg.hangup("api")
        const ended = first === "engine" ? [] : ["ended hangup"]
        expect(summary(call.events)).toEqual(["ringing", "completed", ...ended])
        expect(phone.take().map(({ event }) => event)).toEqual(first === "caller" ? [] : ["hangup"])
        expect(other.take().map(({ event }) => event)).toEqual(first === "destination" ? [] : ["hangup"])
      }
    })
  )

  it.scoped("that fails emits its outcome, and the call continues with the agent", () =>
    Effect.gen(function* () {
      for (const [behaviour, ms, progress] of [
        [undefined, 0, ["failed"]],
        ["busy", 0, ["busy"]],
        ["reject", 200, ["ringing", "rejected"]],
        ["no-answer", 20_000, ["ringing", "no-answer"]]
      ] as const) {
        const { call, network, phone } = yield* transferred(behaviour)
        yield* TestClock.adjust(ms)
        expect(summary(call.events)).toEqual(progress)
        phone.sends({ event: "say", text: "Still here" })
        network.time.advance(2000)
        expect(call.heard.map(({ text }) => text)).toEqual(["Still here"])
        call.speak("So am I.")
        expect(phone.take().some((m) => m.event === "heard" && m.final && m.text === "So am I.")).toBe(true)
        call.leg.transferBlind?.(target)
        yield* TestClock.adjust(0)
        expect(call.events.length).toBeGreaterThan(progress.length)
      }
    })
  )

  it.scoped("ends with the caller's hangup, and the destination receives hangup", () =>
    Effect.gen(function* () {
      const { call, other, phone } = yield* transferred("no-answer")
      phone.sends({ event: "hangup" })
      yield* TestClock.adjust("1 minute")
      expect(summary(call.events)).toEqual(["ringing", "ended hangup"])
      expect(other.take().map(({ event }) => event)).toEqual(["incoming", "hangup"])
    })
  )

  it.scoped("ignores a second transferBlind while the first is in progress", () =>
    Effect.gen(function* () {
      const { call, other } = yield* transferred("no-answer")
      call.leg.transferBlind?.("+15550100999")
      yield* TestClock.adjust("20 seconds")
      expect(summary(call.events)).toEqual(["ringing", "no-answer"])
      expect(other.take().map(({ event }) => event)).toEqual(["incoming", "hangup"])
    })
  )

  it.scoped("to a number of the caller's own phone completes", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      phone.sends({ event: "register", numbers: [target], behaviour: "answer", ring_ms: 0 })
      call.leg.transferBlind?.(target)
      yield* TestClock.adjust("1 second")
      expect(summary(call.events)).toEqual(["ringing", "completed", "ended hangup"])
      expect(phone.take().map(({ event }) => event)).toEqual(["registered", "incoming", "transferred", "hangup"])
    })
  )

  it.scoped("is refused where the call's script says so, and the call continues", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const other = network.phone()
      other.sends({ event: "register", numbers: [target], behaviour: "answer" })
      other.take()
      const { call } = yield* network.connect()
      network.realism.set("call_1", { leg: { transfer: "refused" } })
      call.leg.transferBlind?.(target)
      yield* TestClock.adjust("1 second")
      expect(call.events).toEqual([
        {
          _tag: "TransferProgress",
          state: "failed",
          reason: "the network does not transfer this call",
          refused: true
        }
      ])
      expect(other.take()).toEqual([])
    })
  )
})
