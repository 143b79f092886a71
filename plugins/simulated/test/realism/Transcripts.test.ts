import { expect, it } from "@effect/vitest"
import { type SpeechEvent, SpeechToText, type SpeechToTextSession } from "@svc/providers/SpeechToText"
import { Effect, Layer, TestClock } from "effect"
import { describe } from "vitest"
import { CallRequests } from "../../src/CallRequests.ts"
import { CallRealism } from "../../src/Realism/CallRealism.ts"
import type { SttRealism } from "../../src/Realism/Realism.ts"
import { SimulatedSpeechToText } from "../../src/SimulatedSpeechToText.ts"
import { silence, toneFrames } from "../Tones.ts"

/** `providers.stt`, measured at the events of a session and their times. */

const Speech = SimulatedSpeechToText.pipe(Layer.provideMerge(Layer.merge(CallRealism.layer, CallRequests.layer)))

interface Heard {
  readonly session: SpeechToTextSession
  /** Pushes frames at their pace, each when it is complete. */
  readonly push: (frames: ReadonlyArray<Int16Array>) => Effect.Effect<void>
  readonly say: (text: string) => Effect.Effect<void>
  readonly now: Effect.Effect<number>
  /** Events with the time at which they came, in milliseconds. */
  readonly events: ReadonlyArray<readonly [at: number, event: SpeechEvent]>
  readonly tags: () => ReadonlyArray<SpeechEvent["_tag"]>
  /** The texts of events of one kind. */
  readonly texts: (tag: SpeechEvent["_tag"]) => ReadonlyArray<string>
  readonly timeOf: (tag: SpeechEvent["_tag"]) => number | undefined
}

const listen = (stt: SttRealism, callId = "call_x") =>
  Effect.gen(function* () {
    const calls = yield* CallRealism
    if (calls.of(callId).stt === undefined) calls.set(callId, { stt })
    const provider = yield* SpeechToText
    const clock = yield* Effect.clock
    const events: Array<readonly [number, SpeechEvent]> = []
    const session = yield* provider.open({
      callId,
      language: "en-US",
      sampleRate: 8000,
      format: "smart",
      keyterms: [],
      onEvent: (event) => events.push([clock.unsafeCurrentTimeMillis(), event])
    })
    const push = (frames: ReadonlyArray<Int16Array>) =>
      Effect.forEach(
        frames,
        (frame) =>
          Effect.zipRight(
            TestClock.adjust("20 millis"),
            Effect.sync(() => session.push(frame))
          ),
        { discard: true }
      )
    const heard: Heard = {
      session,
      push,
      say: (text) => push(toneFrames(text)),
      now: Effect.sync(() => clock.unsafeCurrentTimeMillis()),
      events,
      tags: () => events.map(([, { _tag }]) => _tag),
      texts: (tag) => events.flatMap(([, event]) => (event._tag === tag && "text" in event ? [event.text] : [])),
      timeOf: (tag) => events.find(([, { _tag }]) => _tag === tag)?.[0]
    }
    return heard
  })

describe("providers.stt", () => {
  it.scoped("final_after_ms counts from the end of the speech to the final, which the end of the turn follows", () =>
    Effect.gen(function* () {
      const { events, now, say, tags, timeOf } = yield* listen({ final_after_ms: 700 })
      yield* say("Good morning")
      const end = yield* now
      expect(tags()).toEqual(["SpeechStarted", "Partial", "Partial", "Partial"])
      expect(events.at(-1)?.[1]).toEqual({ _tag: "Partial", text: "Good morning" })
      yield* TestClock.adjust("2 seconds")
      expect(tags().slice(-2)).toEqual(["Final", "EndOfTurn"])
      expect([timeOf("Final"), timeOf("EndOfTurn")]).toEqual([end + 700, end + 700])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("final_after_ms counts from where speech stopped that was cut", () =>
    Effect.gen(function* () {
      const { now, push, timeOf } = yield* listen({ final_after_ms: 700 })
      yield* push(toneFrames("broken off").slice(0, 21))
      const end = yield* now
      yield* push(silence(20))
      yield* TestClock.adjust("2 seconds")
      expect(Math.abs((timeOf("Final") ?? 0) - (end + 700))).toBeLessThanOrEqual(20)
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("the end of the turn does not come while the caller goes on within final_after_ms", () =>
    Effect.gen(function* () {
      const { say, tags, texts } = yield* listen({ final_after_ms: 700 })
      yield* say("One")
      yield* TestClock.adjust("200 millis")
      yield* say("and two")
      yield* TestClock.adjust("2 seconds")
      expect(texts("Final")).toEqual(["One", "and two"])
      expect(tags().filter((tag) => tag === "EndOfTurn")).toEqual(["EndOfTurn"])
      expect(tags().at(-1)).toBe("EndOfTurn")
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("late_final_ms puts the final so long after the end of the turn", () =>
    Effect.gen(function* () {
      const { now, say, tags, timeOf } = yield* listen({ final_after_ms: 300, late_final_ms: 400 })
      yield* say("Good morning")
      const end = yield* now
      yield* TestClock.adjust("2 seconds")
      expect(tags().slice(-2)).toEqual(["EndOfTurn", "Final"])
      expect([timeOf("EndOfTurn"), timeOf("Final")]).toEqual([end + 300, end + 700])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("endpointing none tells no end of a turn", () =>
    Effect.gen(function* () {
      const { say, tags } = yield* listen({ endpointing: "none", eager: true })
      yield* say("Good morning")
      yield* TestClock.adjust("10 seconds")
      expect(tags()).toEqual(["SpeechStarted", "Partial", "Partial", "Final"])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("miss_final drops every n-th final of the call, also over sessions, and not its end of turn", () =>
    Effect.gen(function* () {
      const first = yield* listen({ miss_final: 2 })
      for (const text of ["One", "Two", "Three"]) yield* first.say(text)
      expect(first.texts("Final")).toEqual(["One", "Three"])
      expect(first.texts("Partial")).toContain("Two")
      expect(first.tags().filter((tag) => tag === "EndOfTurn")).toHaveLength(3)
      const second = yield* listen({ miss_final: 2 })
      for (const text of ["Four", "Five"]) yield* second.say(text)
      expect(second.texts("Final")).toEqual(["Five"])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("partial_every_ms gives a partial after so many milliseconds of speech each", () =>
    Effect.gen(function* () {
      const { events, say } = yield* listen({ partial_every_ms: 200 })
      yield* say("I see what you mean by that")
      const times = events.flatMap(([at, { _tag }]) => (_tag === "Partial" ? [at] : []))
      expect(times.length).toBeGreaterThan(5)
      expect(new Set(times.slice(1).map((at, n) => at - (times[n] ?? 0)))).toEqual(new Set([200]))
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("revise corrects words of earlier partials, and the final is right", () =>
    Effect.gen(function* () {
      const spoken = "I need a table for two at eight"
      const { say, texts } = yield* listen({ revise: true })
      yield* say(spoken)
      const partials = texts("Partial")
      const revised = partials.filter((text, n) => !(partials[n + 1] ?? spoken).startsWith(text))
      expect(revised.length).toBeGreaterThan(1)
      expect(revised.length).toBeLessThan(partials.length)
      expect(texts("Final")).toEqual([spoken])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("eager tells ends of turns before they are certain, and withdraws some", () =>
    Effect.gen(function* () {
      const { say, tags, texts } = yield* listen({ eager: true, final_after_ms: 300 })
      yield* say("Good morning to you")
      yield* TestClock.adjust("1 second")
      yield* say("Bye")
      yield* TestClock.adjust("1 second")
      expect(tags().filter((tag) => tag !== "Partial")).toEqual([
        ...["SpeechStarted", "EagerEndOfTurn", "TurnResumed", "EagerEndOfTurn", "Final", "EndOfTurn"],
        ...["SpeechStarted", "EagerEndOfTurn", "Final", "EndOfTurn"]
      ])
      expect(texts("EagerEndOfTurn")).toEqual(["Good", "Good morning to you", "Bye"])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("an eager end is withdrawn when the caller goes on, and the next has all words of the turn", () =>
    Effect.gen(function* () {
      const { say, tags, texts } = yield* listen({ eager: true, final_after_ms: 600 })
      yield* say("One")
      yield* TestClock.adjust("100 millis")
      yield* say("two or three")
      yield* TestClock.adjust("1 second")
      expect(tags().filter((tag) => tag !== "Partial")).toEqual([
        ...["SpeechStarted", "EagerEndOfTurn", "TurnResumed", "SpeechStarted"],
        ...["Final", "EagerEndOfTurn", "Final", "EndOfTurn"]
      ])
      expect(texts("EagerEndOfTurn")).toEqual(["One", "One two or three"])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("fail_every_s breaks each session after so many seconds of audio, however long they take", () =>
    Effect.gen(function* () {
      const first = yield* listen({ fail_every_s: 1 })
      yield* TestClock.adjust("1 minute")
      yield* first.say("A sentence of more than one second")
      expect(first.tags().at(-1)).toBe("Failed")
      expect(first.timeOf("Failed")).toBe(60_000 + 50 * 20)
      expect(first.tags().filter((tag) => tag === "Failed")).toHaveLength(1)
      const second = yield* listen({ fail_every_s: 1 })
      yield* second.push(silence(49))
      expect(second.tags()).toEqual([])
      yield* second.push(silence(1))
      expect(second.tags()).toEqual(["Failed"])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("finish and flush give at once what would come later, but no missed final", () =>
    Effect.gen(function* () {
      const finished = yield* listen({ final_after_ms: 5000, late_final_ms: 5000 })
      yield* finished.say("One")
      yield* finished.push(toneFrames("and").slice(0, 9))
      yield* finished.session.finish
      expect(finished.texts("Final")).toEqual(["One", "an"])
      const before = finished.events.length
      yield* TestClock.adjust("1 minute")
      expect(finished.events.length).toBe(before)

      const flushed = yield* listen({ final_after_ms: 5000, miss_final: 2 }, "call_y")
      yield* flushed.say("One")
      flushed.session.flush?.()
      yield* flushed.say("two")
      flushed.session.flush?.()
      expect(flushed.texts("Final")).toEqual(["One"])
      expect(flushed.tags().filter((tag) => tag === "EndOfTurn")).toHaveLength(2)
    }).pipe(Effect.provide(Speech))
  )

  it.effect("nothing that is due later comes from a closed session", () =>
    Effect.gen(function* () {
      const heard = yield* Effect.scoped(Effect.tap(listen({ final_after_ms: 500 }), (heard) => heard.say("One")))
      yield* TestClock.adjust("1 minute")
      expect(heard.texts("Final")).toEqual([])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("the same call has the same faults", () =>
    Effect.gen(function* () {
      const run = (callId: string) =>
        Effect.gen(function* () {
          const heard = yield* listen({ revise: true, eager: true, miss_final: 3 }, callId)
          for (const text of ["I need a table", "for two or three", "at eight or nine"]) yield* heard.say(text)
          return heard.events.map(([, event]) => event)
        })
      expect(yield* run("call_a")).toEqual(yield* run("call_b"))
    }).pipe(Effect.provide(Speech))
  )
})
