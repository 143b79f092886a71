import { Effect, Fiber } from "effect"
import { frameBytes } from "../Audio.ts"
import type { CallLeg } from "../Telephony.ts"
import { type Check, CheckFailed, must, mustNotThrow } from "./Check.ts"
import { mustNotLeak } from "./Leaks.ts"
import {
  audioOf,
  type Connected,
  countEnded,
  labelled,
  labelsIn,
  labelsOf,
  play,
  same,
  type TelephonyCheckOptions,
  type TelephonyHarness
} from "./TelephonyHarness.ts"

/** Calls every method of a leg whose call has ended. */
const useAll = (leg: CallLeg): Effect.Effect<void, CheckFailed> =>
  Effect.gen(function* () {
    yield* mustNotThrow("send", () => leg.send(new Uint8Array(frameBytes(leg.format))))
    yield* mustNotThrow("mark", () => leg.mark("late"))
    yield* mustNotThrow("clear", () => leg.clear())
    yield* mustNotThrow("sendDtmf", () => leg.sendDtmf?.("1"))
    yield* mustNotThrow("hangup", () => leg.hangup("again"))
  })

/** The requirements on the beginning and the end of a call, its digits, and calls beside each other. */
export const callChecks = (harness: TelephonyHarness, options: TelephonyCheckOptions): ReadonlyArray<Check> => {
  const { check, eventually, mustFail, numbers, quiet, within } = harness

  /** The leg emits Ended once, as its last event. */
  const endsOnce = ({ events, leg }: Connected) =>
    Effect.gen(function* () {
      yield* eventually("the event Ended", () => countEnded(events) > 0)
      yield* useAll(leg)
      yield* quiet
      yield* must(countEnded(events) === 1, `it emitted Ended ${countEnded(events)} times`)
      yield* must(events.at(-1)?._tag === "Ended", `it emitted ${events.at(-1)?._tag} after Ended`)
    })

  return [
    check("declares a lower-case id and at least one audio format, and is healthy", ({ telephony }) =>
      Effect.gen(function* () {
        yield* must(/^[a-z][a-z0-9-]*$/.test(telephony.id), `its id "${telephony.id}" is not a short lower-case name`)
        yield* must(telephony.capabilities.formats.length > 0, "it declares no audio format")
        const health = yield* within("health", telephony.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("incoming emits a call with both numbers or its call link, and ringing reaches the phone", ({ ring }) =>
      Effect.gen(function* () {
        const { call, phone } = yield* ring
        const hasLink = call.link !== undefined
        yield* must(hasLink || call.to === numbers.to, `the called number is ${call.to}`)
        yield* must(hasLink || call.from === numbers.from, `the caller's number is ${call.from}`)
        yield* mustNotThrow("ringing", () => call.ringing("call_conformance"))
        yield* eventually("the phone ringing", () => phone.state() === "ringing")
      })
    ),
    check("answer uses each declared format when it is requested", ({ answer, ring, telephony }) =>
      Effect.forEach(telephony.capabilities.formats, (format) =>
        Effect.gen(function* () {
          const { call, phone } = yield* ring
          const leg = yield* answer(call, [format])
          const got = `${leg.format.encoding} at ${leg.format.sampleRate} Hz`
          const asked = `${format.encoding} at ${format.sampleRate} Hz`
          yield* must(got === asked, `the format is ${got} instead of ${asked}`)
          yield* eventually("the answer on the phone", () => phone.state() === "answered")
          yield* phone.hangup
        }).pipe(Effect.scoped)
      )
    ),
    check("reject refuses the call on the phone for every cause", ({ ring }) =>
      Effect.forEach(["busy", "declined", "unavailable"] as const, (cause) =>
        Effect.gen(function* () {
          const { call, phone } = yield* ring
          yield* mustNotThrow("reject", () => call.reject(cause, "conformance"))
          yield* eventually("the refusal on the phone", () => phone.state() === "rejected")
        }).pipe(Effect.scoped)
      )
    ),
    check(
      "canceled completes when the caller hangs up before the answer, and answer then fails with CallGone",
      ({ ring }) =>
        Effect.gen(function* () {
          const { call, phone } = yield* ring
          const waiting = yield* Effect.fork(call.canceled)
          yield* quiet
          yield* must(waiting.unsafePoll() === null, "canceled completed while the caller was waiting")
          yield* phone.hangup
          yield* within("canceled", Fiber.join(waiting))
          const answer = Effect.suspend(() => call.answer({ callId: "call_gone", formats: [] }))
          yield* mustFail("answer", answer, ({ _tag }) => _tag === "CallGone")
          yield* mustNotThrow("reject", () => call.reject("declined"))
        })
    ),
    check("hangup ends the call on the phone and emits Ended at most once", ({ connect }) =>
      Effect.gen(function* () {
        const { events, leg, phone } = yield* connect
        yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
        yield* eventually("the end of the call on the phone", () => phone.state() === "ended")
        yield* useAll(leg)
        yield* quiet
        yield* must(countEnded(events) <= 1, `it emitted Ended ${countEnded(events)} times`)
      })
    ),
    check("a leg emits Ended with cause hangup once and last when the caller hangs up", ({ connect }) =>
      Effect.gen(function* () {
        const connected = yield* connect
        yield* connected.phone.hangup
        yield* endsOnce(connected)
        const end = connected.events.find((event) => event._tag === "Ended")
        yield* must(end?.cause === "hangup", `the cause is "${end?.cause}"`)
      })
    ),
    check("a leg emits Ended once and last when the connection breaks", ({ connect }) =>
      Effect.gen(function* () {
        const connected = yield* connect
        yield* connected.phone.drop
        yield* endsOnce(connected)
      })
    ),
    check("a leg emits received digits in order if dtmfIn is declared", ({ connect, telephony }) =>
      Effect.gen(function* () {
        if (!telephony.capabilities.dtmfIn) return
        const { events, phone } = yield* connect
        const { press } = phone
        if (press === undefined) return yield* new CheckFailed({ reason: "dtmfIn is declared; give the phone `press`" })
        yield* press("12#*0")
        const received = () => events.flatMap((event) => (event._tag === "Dtmf" ? [event.digit] : [])).join("")
        yield* eventually("the event Dtmf for five digits", () => received().length >= 5)
        yield* must(received() === "12#*0", `it emitted the digits ${received()} instead of 12#*0`)
      })
    ),
    check("sendDtmf sends digits in order if dtmfOut is declared", ({ connect, telephony }) =>
      Effect.gen(function* () {
        if (!telephony.capabilities.dtmfOut) return
        const { leg, phone } = yield* connect
        const { digits } = phone
        if (digits === undefined)
          return yield* new CheckFailed({ reason: "dtmfOut is declared; give the phone `digits`" })
        if (leg.sendDtmf === undefined)
          return yield* new CheckFailed({ reason: "dtmfOut is declared, but the leg has no sendDtmf" })
        yield* mustNotThrow("sendDtmf", () => leg.sendDtmf?.("98*"))
        yield* eventually("three digits on the phone", () => digits().length >= 3)
        yield* must(digits() === "98*", `the phone received the digits ${digits()} instead of 98*`)
      })
    ),
    check("keeps two concurrent calls separate", ({ connect }) =>
      Effect.gen(function* () {
        const [one, two] = [yield* connect, yield* connect]
        yield* Effect.all([play(one.leg, 0, 20), play(two.leg, 40, 60)], { concurrency: 2 })
        yield* one.phone.send(labelled(one.leg.format, 1))
        yield* two.phone.send(labelled(two.leg.format, 2))
        const heard = ({ leg, phone }: Connected, from: number) =>
          same(labelsIn(phone.heard()), labelsOf(leg.format, from, from + 20))
        const emitted = ({ events, leg }: Connected, index: number) =>
          same(labelsIn(audioOf(events)), labelsOf(leg.format, index, index + 1))
        yield* eventually("the audio of each call on its own phone", () => heard(one, 0) && heard(two, 40))
        yield* eventually("the audio of each phone on its own leg", () => emitted(one, 1) && emitted(two, 2))
        yield* one.phone.hangup
        yield* eventually("the end of the first call", () => countEnded(one.events) > 0)
        yield* quiet
        yield* must(countEnded(two.events) === 0, "the end of one call ended another")
      })
    ),
    check("incoming continues to emit calls after a phone sent malformed data", ({ connect }) =>
      Effect.gen(function* () {
        const broken = yield* connect
        if (broken.phone.garbage === undefined) return
        yield* broken.phone.garbage
        yield* quiet
        yield* must(countEnded(broken.events) <= 1, `it emitted Ended ${countEnded(broken.events)} times`)
        yield* connect
      })
    ),
    check("many calls leave no fibers, timers or sockets behind", ({ connect }) =>
      mustNotLeak(
        harness,
        options,
        Effect.scoped(
          Effect.gen(function* () {
            const { leg, phone } = yield* connect
            leg.send(labelled(leg.format, 1))
            yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
            yield* eventually("the end of the call on the phone", () => phone.state() === "ended")
          })
        )
      )
    )
  ]
}
