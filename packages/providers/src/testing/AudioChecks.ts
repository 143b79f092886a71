import { Effect } from "effect"
import { frameBytes, frameMs } from "../Audio.ts"
import type { CallEvent, CallLeg, Telephony } from "../Telephony.ts"
import { type Check, must, mustNotThrow } from "./Check.ts"
import {
  audioOf,
  countEnded,
  labelled,
  labelsIn,
  labelsOf,
  listen,
  play,
  same,
  type TelephonyHarness
} from "./TelephonyHarness.ts"

/** The marks of a leg; absent: as the network declares. */
const hasMarks = ({ leg, telephony }: { readonly leg: CallLeg; readonly telephony: typeof Telephony.Service }) =>
  (leg.marks ?? telephony.capabilities.playbackMarks) !== "none"

const marks = (events: ReadonlyArray<CallEvent>) =>
  events.flatMap((event) => (event._tag === "Mark" ? [`${event.name} ${event.outcome}`] : []))

/** Sends labelled frames at once, in messages as long as the leg takes them. */
const sendAtOnce = (leg: CallLeg, from: number, to: number): void => {
  const most = Math.max(1, Math.floor((leg.aheadMs ?? 0) / frameMs))
  const size = frameBytes(leg.format)
  for (let at = from; at < to; at += most) {
    const message = new Uint8Array(Math.min(most, to - at) * size)
    for (let n = 0; n * size < message.length; n++) message.set(labelled(leg.format, at + n), n * size)
    leg.send(message)
    // The engine reuses the bytes.
    message.fill(0xff)
  }
}

/** The requirements on the audio of a call and its marks. */
export const audioChecks = ({ check, eventually, quiet }: TelephonyHarness): ReadonlyArray<Check> => [
  check("a leg emits the caller's audio completely and in order", ({ connect }) =>
    Effect.gen(function* () {
      const { events, leg, phone } = yield* connect
      for (let index = 0; index < 40; index++) {
        yield* phone.send(labelled(leg.format, index))
        yield* Effect.sleep(20)
      }
      const wanted = labelsOf(leg.format, 0, 40)
      yield* eventually("the last frame", () => labelsIn(audioOf(events)).includes(wanted.at(-1) ?? 0))
      const got = labelsIn(audioOf(events))
      yield* must(same(got, wanted), `it emitted the frames ${got} instead of ${wanted}`)
      // The pieces have any length.
      const bytes = audioOf(events).filter((byte) => wanted.includes(byte)).length
      const sent = wanted.length * frameBytes(leg.format)
      yield* must(bytes === sent, `of ${sent} bytes of audio it emitted ${bytes}`)
    })
  ),
  check("listen delivers the events from before it first and in order", ({ answer, ring }) =>
    Effect.gen(function* () {
      const { call, phone } = yield* ring
      const leg = yield* answer(call)
      yield* eventually("the answer on the phone", () => phone.state() === "answered")
      for (let index = 0; index < 5; index++) yield* phone.send(labelled(leg.format, index))
      yield* phone.hangup
      yield* quiet
      const events = yield* listen(leg)
      yield* eventually("the event Ended", () => countEnded(events) > 0)
      const [got, wanted] = [labelsIn(audioOf(events)), labelsOf(leg.format, 0, 5)]
      yield* must(same(got, wanted), `of the frames ${wanted} from before listen, ${got} were delivered`)
      yield* must(events.at(-1)?._tag === "Ended", "it emitted an event after Ended")
    })
  ),
  check("send plays frames in order and does not keep a reference to them", ({ connect }) =>
    Effect.gen(function* () {
      const { leg, phone } = yield* connect
      yield* play(leg, 0, 40)
      const wanted = labelsOf(leg.format, 0, 40)
      yield* eventually("the last frame", () => labelsIn(phone.heard()).includes(wanted.at(-1) ?? 0))
      const got = labelsIn(phone.heard())
      yield* must(same(got, wanted), `the phone played the frames ${got} instead of ${wanted}`)
    })
  ),
  check(
    "a leg with aheadMs plays all frames of several sends in order, and confirms the marks after the first and the last",
    ({ connect, telephony }) =>
      Effect.gen(function* () {
        const { events, leg, phone } = yield* connect
        if ((leg.aheadMs ?? 0) < frameMs) return
        const frames = Math.floor((leg.aheadMs ?? 0) / frameMs)
        const wanted = labelsOf(leg.format, 0, frames)
        // As the engine does it.
        yield* mustNotThrow("send", () => sendAtOnce(leg, 0, 1))
        yield* mustNotThrow("mark", () => leg.mark("first"))
        yield* mustNotThrow("send", () => sendAtOnce(leg, 1, frames))
        yield* mustNotThrow("mark", () => leg.mark("all"))
        yield* eventually("the last frame", () => labelsIn(phone.heard()).includes(wanted.at(-1) ?? 0))
        const got = labelsIn(phone.heard())
        yield* must(same(got, wanted), `the phone played the frames ${got} instead of ${wanted}`)
        if (hasMarks({ leg, telephony })) {
          yield* eventually("both marks", () => marks(events).length > 1)
          const emitted = marks(events)
          yield* must(same(emitted, ["first played", "all played"]), `it emitted the marks ${emitted.join(", ")}`)
        }
      })
  ),
  check("a mark is confirmed as played after the audio before it", ({ connect, telephony }) =>
    Effect.gen(function* () {
      const { events, leg, phone } = yield* connect
      if (!hasMarks({ leg, telephony })) return
      yield* play(leg, 0, 10)
      yield* mustNotThrow("mark", () => leg.mark("one"))
      yield* play(leg, 10, 20)
      yield* mustNotThrow("mark", () => leg.mark("two"))
      yield* eventually("both marks", () => marks(events).length >= 2)
      yield* must(same(marks(events), ["one played", "two played"]), `it emitted the marks ${marks(events).join(", ")}`)
      const wanted = labelsOf(leg.format, 0, 20)
      yield* eventually("the audio", () => same(labelsIn(phone.heard()), wanted))
    })
  ),
  check(
    "each mark is confirmed once and in order, also those that clear drops, and none if marks is none",
    ({ connect, telephony }) =>
      Effect.gen(function* () {
        const { events, leg } = yield* connect
        for (let index = 0; index < 5; index++) {
          yield* play(leg, 5 * index, 5 * index + 5)
          yield* mustNotThrow("mark", () => leg.mark(`p${index}`))
        }
        yield* quiet
        for (let index = 25; index < 65; index++) {
          leg.send(labelled(leg.format, index))
          if (index % 10 === 4) yield* mustNotThrow("mark", () => leg.mark(`c${index}`))
        }
        yield* mustNotThrow("clear", () => leg.clear())
        yield* mustNotThrow("mark", () => leg.mark("last"))
        yield* quiet
        const asked = hasMarks({ leg, telephony })
          ? ["p0", "p1", "p2", "p3", "p4", "c34", "c44", "c54", "c64", "last"]
          : []
        if (asked.length > 0)
          yield* eventually("the last mark", () => marks(events).some((mark) => mark.startsWith("last ")))
        yield* quiet
        const names = marks(events).map((mark) => mark.split(" ")[0])
        yield* must(same(names, asked), `it confirmed the marks ${names.join(", ")} instead of ${asked.join(", ")}`)
        const outcomes = marks(events).map((mark) => mark.split(" ")[1])
        const firstCleared = outcomes.indexOf("cleared")
        const later = firstCleared === -1 ? [] : outcomes.slice(firstCleared, -1)
        yield* must(
          later.every((outcome) => outcome === "cleared"),
          `after a mark that was cleared it confirmed one before clear as played: ${marks(events).join(", ")}`
        )
      })
  ),
  check("after clear a mark is confirmed as played only if all audio before it was played", ({ connect, telephony }) =>
    Effect.gen(function* () {
      const { events, leg, phone } = yield* connect
      if (!hasMarks({ leg, telephony })) return
      for (let index = 0; index < 75; index++) leg.send(labelled(leg.format, index))
      yield* mustNotThrow("mark", () => leg.mark("cut"))
      yield* mustNotThrow("clear", () => leg.clear())
      yield* eventually("the mark", () => marks(events).length > 0)
      yield* play(leg, 75, 80)
      yield* mustNotThrow("mark", () => leg.mark("next"))
      yield* eventually("the next mark", () => marks(events).length > 1)
      const emitted = marks(events)
      yield* must(emitted[1] === "next played", `a mark after clear was confirmed as "${emitted[1]}"`)
      yield* eventually("the new audio", () => labelsIn(phone.heard()).includes(labelsOf(leg.format, 79, 80)[0] ?? 0))
      const all = same(labelsIn(phone.heard()), labelsOf(leg.format, 0, 80))
      const correct = all ? "cut played" : "cut cleared"
      yield* must(
        emitted[0] === correct,
        `the phone played ${all ? "all" : "not all"} audio before the mark, which was confirmed as "${emitted[0]}"`
      )
    })
  ),
  check("clear drops the audio that was sent before it", ({ connect }) =>
    Effect.gen(function* () {
      const { leg, phone } = yield* connect
      sendAtOnce(leg, 0, 75)
      yield* mustNotThrow("clear", () => leg.clear())
      const before = yield* Effect.as(Effect.yieldNow(), labelsIn(phone.heard()))
      yield* play(leg, 75, 80)
      const fresh = labelsOf(leg.format, 75, 80)
      yield* eventually("the new audio", () => labelsIn(phone.heard()).includes(fresh.at(-1) ?? 0))
      yield* quiet
      // One frame may have been in transit.
      const after = labelsIn(phone.heard())
        .slice(before.length)
        .filter((label) => !fresh.includes(label))
      yield* must(after.length <= 1, `${after.length} frames from before clear were played after it`)
    })
  )
]
