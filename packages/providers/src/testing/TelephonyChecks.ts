import { Effect, Fiber } from "effect"
import { frameBytes } from "../Audio.ts"
import type { CallEvent, CallLeg } from "../Telephony.ts"
import { type Check, CheckFailed, must, mustNotThrow } from "./Check.ts"
import { dialChecks } from "./DialChecks.ts"
import { leavesNothing } from "./Leaks.ts"
import { messagingChecks } from "./MessagingChecks.ts"
import {
  audioOf,
  type Connected,
  listen,
  marked,
  marksIn,
  marksOf,
  play,
  type TelephonyCheckOptions,
  telephonyBench
} from "./TelephonyBench.ts"
import { transferChecks } from "./TransferChecks.ts"

const same = (left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index])

const ends = (events: ReadonlyArray<CallEvent>) => events.filter(({ _tag }) => _tag === "Ended").length
const marks = (events: ReadonlyArray<CallEvent>) =>
  events.flatMap((event) => (event._tag === "Mark" ? [`${event.name} ${event.outcome}`] : []))

/** Every method, on a leg that is over. */
const useAll = (leg: CallLeg): Effect.Effect<void, CheckFailed> =>
  Effect.gen(function* () {
    yield* mustNotThrow("send", () => leg.send(new Uint8Array(frameBytes(leg.format))))
    yield* mustNotThrow("mark", () => leg.mark("late"))
    yield* mustNotThrow("clear", () => leg.clear())
    yield* mustNotThrow("sendDtmf", () => leg.sendDtmf?.("1"))
    yield* mustNotThrow("hangup", () => leg.hangup("again"))
  })

/** What every telephone network must do. */
export const telephonyChecks = (options: TelephonyCheckOptions): ReadonlyArray<Check> => [
  ...callChecks(options),
  ...transferChecks(options),
  ...dialChecks(options),
  ...messagingChecks(telephonyBench(options), options)
]

const callChecks = (options: TelephonyCheckOptions): ReadonlyArray<Check> => {
  const { bench, check, eventually, numbers, quiet, within } = telephonyBench(options)

  /** The leg tells once, as its last word, that the call is over. */
  const endsOnce = ({ events, leg }: Connected) =>
    Effect.gen(function* () {
      yield* eventually("the event Ended", () => ends(events) > 0)
      yield* useAll(leg)
      yield* quiet
      yield* must(ends(events) === 1, `it told Ended ${ends(events)} times`)
      yield* must(events.at(-1)?._tag === "Ended", `it told ${events.at(-1)?._tag} after Ended`)
    })

  return [
    check("declares what it can do", ({ telephony }) =>
      Effect.gen(function* () {
        yield* must(/^[a-z][a-z0-9-]*$/.test(telephony.id), `its id "${telephony.id}" is not a short lower-case name`)
        yield* must(telephony.capabilities.formats.length > 0, "it declares no audio format")
        const health = yield* within("health", telephony.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("brings a call in with its numbers, and rings", ({ ring }) =>
      Effect.gen(function* () {
        const { call, phone } = yield* ring
        yield* must(call.to === numbers.to, `the called number is ${call.to}`)
        yield* must(call.from === numbers.from, `the caller's number is ${call.from}`)
        yield* mustNotThrow("ringing", () => call.ringing("call_conformance"))
        yield* eventually("the phone ringing", () => phone.state() === "ringing")
      })
    ),
    check("answers in each format that it declares", ({ answer, ring, telephony }) =>
      Effect.forEach(telephony.capabilities.formats, (format) =>
        Effect.gen(function* () {
          const { call, phone } = yield* ring
          const leg = yield* answer(call, [format])
          const got = `${leg.format.encoding} at ${leg.format.sampleRate} Hz`
          const asked = `${format.encoding} at ${format.sampleRate} Hz`
          yield* must(got === asked, `asked for ${asked} it answered with ${got}`)
          yield* eventually("the phone being answered", () => phone.state() === "answered")
          yield* phone.hangup
        }).pipe(Effect.scoped)
      )
    ),
    check("tells the phone that a call was refused", ({ ring }) =>
      Effect.forEach(["busy", "declined", "unavailable"] as const, (cause) =>
        Effect.gen(function* () {
          const { call, phone } = yield* ring
          yield* mustNotThrow("reject", () => call.reject(cause, "conformance"))
          yield* eventually("the phone being refused", () => phone.state() === "rejected")
        }).pipe(Effect.scoped)
      )
    ),
    check("tells when the caller gives up before the answer, and fails the answer with CallGone", ({ ring }) =>
      Effect.gen(function* () {
        const { call, phone } = yield* ring
        const waiting = yield* Effect.fork(call.canceled)
        yield* quiet
        yield* must(waiting.unsafePoll() === null, "it told that the caller gave up, while the caller waited")
        yield* phone.hangup
        yield* within("noticing that the caller gave up", Fiber.join(waiting))
        const answered = yield* Effect.either(
          within(
            "answer",
            Effect.suspend(() => call.answer({ callId: "call_gone", formats: [] }))
          )
        )
        if (answered._tag === "Right") return yield* new CheckFailed({ reason: "a call that was gone was answered" })
        if (answered.left instanceof CheckFailed) return yield* answered.left
        yield* must(answered.left._tag === "CallGone", `answer failed with ${answered.left}`)
        yield* mustNotThrow("reject", () => call.reject("declined"))
      })
    ),
    check("brings the caller's audio, whole and in order", ({ connect }) =>
      Effect.gen(function* () {
        const { events, leg, phone } = yield* connect
        for (let index = 0; index < 40; index++) {
          yield* phone.send(marked(leg.format, index))
          yield* Effect.sleep(20)
        }
        const wanted = marksOf(leg.format, 0, 40)
        yield* eventually("the last frame", () => marksIn(audioOf(events)).includes(wanted.at(-1) ?? 0))
        const got = marksIn(audioOf(events))
        yield* must(same(got, wanted), `of frames ${wanted} came ${got}`)
        const whole = events.every((e) => e._tag !== "Audio" || e.payload.length % frameBytes(leg.format) === 0)
        yield* must(whole, "it told audio that is not a whole number of 20 ms frames")
      })
    ),
    check("keeps what came before listen, in order", ({ answer, ring }) =>
      Effect.gen(function* () {
        const { call, phone } = yield* ring
        const leg = yield* answer(call)
        yield* eventually("the phone being answered", () => phone.state() === "answered")
        for (let index = 0; index < 5; index++) yield* phone.send(marked(leg.format, index))
        yield* phone.hangup
        yield* quiet
        const events = yield* listen(leg)
        yield* eventually("the event Ended", () => ends(events) > 0)
        const [got, wanted] = [marksIn(audioOf(events)), marksOf(leg.format, 0, 5)]
        yield* must(same(got, wanted), `of frames ${wanted} sent before listen came ${got}`)
        yield* must(events.at(-1)?._tag === "Ended", "it told something after Ended")
      })
    ),
    check("plays our audio, in order, and copies the frames it is given", ({ connect }) =>
      Effect.gen(function* () {
        const { leg, phone } = yield* connect
        yield* play(leg, 0, 40)
        const wanted = marksOf(leg.format, 0, 40)
        yield* eventually("the last frame", () => marksIn(phone.heard()).includes(wanted.at(-1) ?? 0))
        const got = marksIn(phone.heard())
        yield* must(same(got, wanted), `of frames ${wanted} the phone played ${got}`)
      })
    ),
    check("tells marks as played once the audio before them was", ({ connect }) =>
      Effect.gen(function* () {
        const { events, leg, phone } = yield* connect
        yield* play(leg, 0, 10)
        yield* mustNotThrow("mark", () => leg.mark("one"))
        yield* play(leg, 10, 20)
        yield* mustNotThrow("mark", () => leg.mark("two"))
        yield* eventually("both marks", () => marks(events).length >= 2)
        yield* must(same(marks(events), ["one played", "two played"]), `it told the marks ${marks(events).join(", ")}`)
        const wanted = marksOf(leg.format, 0, 20)
        yield* eventually("the audio", () => same(marksIn(phone.heard()), wanted))
      })
    ),
    check("labels marks truly when audio is cleared: played only if all before them was heard", ({ connect }) =>
      Effect.gen(function* () {
        const { events, leg, phone } = yield* connect
        for (let index = 0; index < 75; index++) leg.send(marked(leg.format, index))
        yield* mustNotThrow("mark", () => leg.mark("cut"))
        yield* mustNotThrow("clear", () => leg.clear())
        yield* eventually("the mark", () => marks(events).length > 0)
        yield* play(leg, 75, 80)
        yield* mustNotThrow("mark", () => leg.mark("next"))
        yield* eventually("the next mark", () => marks(events).length > 1)
        const told = marks(events)
        yield* must(told[1] === "next played", `after clear, a new mark came back as "${told[1]}"`)
        yield* eventually("the new audio", () => marksIn(phone.heard()).includes(marksOf(leg.format, 79, 80)[0] ?? 0))
        const all = same(marksIn(phone.heard()), marksOf(leg.format, 0, 80))
        const honest = all ? "cut played" : "cut cleared"
        yield* must(
          told[0] === honest,
          `the phone heard ${all ? "all" : "not all"} before the mark, told as "${told[0]}"`
        )
      })
    ),
    check("lets nothing be heard after clear that was sent before it", ({ connect }) =>
      Effect.gen(function* () {
        const { leg, phone } = yield* connect
        for (let index = 0; index < 75; index++) leg.send(marked(leg.format, index))
        yield* mustNotThrow("clear", () => leg.clear())
        const before = yield* Effect.as(Effect.yieldNow(), marksIn(phone.heard()))
        yield* play(leg, 75, 80)
        const fresh = marksOf(leg.format, 75, 80)
        yield* eventually("the new audio", () => marksIn(phone.heard()).includes(fresh.at(-1) ?? 0))
        yield* quiet
        // One frame may have been on its way.
        const after = marksIn(phone.heard())
          .slice(before.length)
          .filter((mark) => !fresh.includes(mark))
        yield* must(after.length <= 1, `${after.length} frames were heard after clear`)
      })
    ),
    check("ends the call when we hang up, once", ({ connect }) =>
      Effect.gen(function* () {
        const { events, leg, phone } = yield* connect
        yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
        yield* eventually("the phone's call ending", () => phone.state() === "ended")
        yield* useAll(leg)
        yield* quiet
        yield* must(ends(events) <= 1, `it told Ended ${ends(events)} times`)
      })
    ),
    check("tells once that the caller hung up, and nothing after", ({ connect }) =>
      Effect.gen(function* () {
        const connected = yield* connect
        yield* connected.phone.hangup
        yield* endsOnce(connected)
        const end = connected.events.find((event) => event._tag === "Ended")
        yield* must(end?.cause === "hangup", `the cause is "${end?.cause}"`)
      })
    ),
    check("tells once that the connection broke, and nothing after", ({ connect }) =>
      Effect.gen(function* () {
        const connected = yield* connect
        yield* connected.phone.drop
        yield* endsOnce(connected)
      })
    ),
    check("brings keys that were pressed, in order, if it says that it does", ({ connect, telephony }) =>
      Effect.gen(function* () {
        if (!telephony.capabilities.dtmfIn) return
        const { events, phone } = yield* connect
        const { press } = phone
        if (press === undefined) return yield* new CheckFailed({ reason: "dtmfIn is declared; give the phone `press`" })
        yield* press("12#*0")
        const digits = () => events.flatMap((event) => (event._tag === "Dtmf" ? [event.digit] : [])).join("")
        yield* eventually("five keys", () => digits().length >= 5)
        yield* must(digits() === "12#*0", `of the keys 12#*0 came ${digits()}`)
      })
    ),
    check("sends keys, in order, if it says that it does", ({ connect, telephony }) =>
      Effect.gen(function* () {
        if (!telephony.capabilities.dtmfOut) return
        const { leg, phone } = yield* connect
        const { keys } = phone
        if (keys === undefined) return yield* new CheckFailed({ reason: "dtmfOut is declared; give the phone `keys`" })
        if (leg.sendDtmf === undefined)
          return yield* new CheckFailed({ reason: "dtmfOut is declared, but legs cannot" })
        yield* mustNotThrow("sendDtmf", () => leg.sendDtmf?.("98*"))
        yield* eventually("three keys", () => keys().length >= 3)
        yield* must(keys() === "98*", `of the keys 98* the phone heard ${keys()}`)
      })
    ),
    check("keeps calls apart", ({ connect }) =>
      Effect.gen(function* () {
        const [one, two] = [yield* connect, yield* connect]
        yield* Effect.all([play(one.leg, 0, 20), play(two.leg, 40, 60)], { concurrency: 2 })
        yield* one.phone.send(marked(one.leg.format, 1))
        yield* two.phone.send(marked(two.leg.format, 2))
        const heard = ({ leg, phone }: Connected, from: number) =>
          same(marksIn(phone.heard()), marksOf(leg.format, from, from + 20))
        const told = ({ events, leg }: Connected, index: number) =>
          same(marksIn(audioOf(events)), marksOf(leg.format, index, index + 1))
        yield* eventually("each call's own audio on its phone", () => heard(one, 0) && heard(two, 40))
        yield* eventually("each call's own audio on its leg", () => told(one, 1) && told(two, 2))
        yield* one.phone.hangup
        yield* eventually("the end of the first call", () => ends(one.events) > 0)
        yield* quiet
        yield* must(ends(two.events) === 0, "the end of one call ended the other")
      })
    ),
    check("survives a phone that sends garbage, and goes on taking calls", ({ connect }) =>
      Effect.gen(function* () {
        const broken = yield* connect
        if (broken.phone.garbage === undefined) return
        yield* broken.phone.garbage
        yield* quiet
        yield* must(ends(broken.events) <= 1, `it told Ended ${ends(broken.events)} times`)
        yield* connect
      })
    ),
    check("leaves nothing behind after many calls", ({ connect }) =>
      leavesNothing(
        bench,
        options,
        Effect.scoped(
          Effect.gen(function* () {
            const { leg, phone } = yield* connect
            leg.send(marked(leg.format, 1))
            yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
            yield* eventually("the phone's call ending", () => phone.state() === "ended")
          })
        )
      )
    )
  ]
}
