import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import type { LegKind } from "../doubles/VirtualPhone.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls on legs that confirm what was played in different ways. */

const farewell = "Thank you, and goodbye."
const story = "This is a long story about a man who went to sea and who did not come home again for many years."

const answer = configuration(
  {
    rules: [
      { user: "bye", say: "Bye now.", tool: "end_call", arguments: { disposition: "resolved" } },
      { user: "colleague", say: "I put you through.", tool: "transfer_call", arguments: { destination: "shop" } }
    ],
    otherwise: story
  },
  {
    end_session_message: farewell,
    transfer_destinations: { shop: "+31201234567" }
  }
).json

interface Leg extends LegKind {
  readonly name: string
  /** Milliseconds from when the last frame is due until it counts as played. */
  readonly late: number
  /** The same for the greeting, where it differs. */
  readonly greetingLate?: number
}

const legs: ReadonlyArray<Leg> = [
  { name: "exact marks", marks: "exact", confirmsAfter: 0, late: 0 },
  { name: "exact marks 200 ms late", marks: "exact", confirmsAfter: 200, late: 200 },
  { name: "exact marks, and audio 120 ms ahead", marks: "exact", confirmsAfter: 0, aheadMs: 120, late: 0 },
  {
    name: "echoed marks 100 ms late, and audio 200 ms ahead",
    marks: "echoed",
    confirmsAfter: 100,
    aheadMs: 200,
    late: 100
  },
  { name: "echoed marks 100 ms late", marks: "echoed", confirmsAfter: 100, late: 100 },
  { name: "echoed marks 300 ms late", marks: "echoed", confirmsAfter: 300, late: 300 },
  { name: "no marks", marks: "none", late: 0 } as const,
  { name: "no marks and a delay of 240 ms", marks: "none", playoutDelayMs: 240, late: 240 } as const,
  // The first mark of the greeting is overdue 2 s after it was due; from then on the leg is taken for one without marks.
  { name: "marks that never come", marks: "exact", late: 0, greetingLate: 1435 } as const
].map((leg) => ({ format: mulaw8k, ...leg }) as Leg)

const none: Leg = { name: "none", format: mulaw8k, marks: "none", late: 0 }

/** A call on a leg of this kind. */
const on = <A>({ greetingLate: _, late: __, name: ___, ...leg }: Leg, act: (call: VirtualCall) => Effect.Effect<A>) =>
  during(() => ({}), act, answer, [], leg)

/** Milliseconds from the last frame to the hang-up or transfer, to 10 ms. */
const silenceBefore = (call: VirtualCall, isDone: () => boolean) =>
  Effect.gen(function* () {
    let silence = 0
    for (let frames = -1; !isDone(); silence += 10) {
      if (frames !== call.heard.length) silence = 0
      frames = call.heard.length
      if (silence > 20_000) return yield* Effect.dieMessage("it never happened")
      yield* call.wait("10 millis")
    }
    return silence
  })

const cutsOf = (call: VirtualCall): ReadonlyArray<string> =>
  call.log.rows.flatMap(({ input }) => (input._tag === "SpeechCleared" ? input.cuts.map(({ played }) => played) : []))

describe.each(legs)("a call on a leg with $name", (leg) => {
  const expectLate = (silence: number) => {
    expect(silence).toBeGreaterThanOrEqual(leg.late)
    expect(silence).toBeLessThanOrEqual(leg.late + (leg.aheadMs ?? 0) + 50)
  }

  it.live("that the API ends is hung up when its farewell was played", () =>
    Effect.gen(function* () {
      const { result, state } = yield* on(leg, (call) =>
        Effect.gen(function* () {
          yield* call.wait("5 seconds")
          call.session.end("api")
          yield* call.wait("200 millis")
          const silence = yield* silenceBefore(call, () => call.hangups.length > 0)
          return { silence, turns: call.turns() }
        })
      )
      expectLate(result.silence)
      expect(result.turns.at(-1)).toBe(`assistant: ${farewell}`)
      expect(state.outcome?.status).toBe("completed")
    })
  )

  it.live("that end_call ends is hung up when the farewell was played", () =>
    Effect.gen(function* () {
      const { result } = yield* on(leg, (call) =>
        Effect.gen(function* () {
          yield* call.wait("5 seconds")
          yield* call.say("bye")
          const silence = yield* silenceBefore(call, () => call.hangups.length > 0)
          return { silence, turns: call.turns() }
        })
      )
      expectLate(result.silence)
      expect(result.turns.join(" ")).toContain("assistant: Bye now.")
    })
  )

  it.live("is transferred by a tool when the words before it were played", () =>
    Effect.gen(function* () {
      const { result } = yield* on(leg, (call) =>
        Effect.gen(function* () {
          yield* call.wait("5 seconds")
          yield* call.say("colleague")
          const silence = yield* silenceBefore(call, () => call.transfers.length > 0)
          return { silence, turns: call.turns() }
        })
      )
      expectLate(result.silence)
      expect(result.turns).toContain("assistant: I put you through.")
    })
  )

  it.live("emits ai.speech.ended when the greeting was played", () =>
    Effect.gen(function* () {
      const endOn = (kind: Leg) =>
        Effect.map(
          on(kind, (call) => Effect.as(call.wait("6 seconds"), call.log)),
          ({ result }) => Date.parse(result.events.find(({ event }) => event === "ai.speech.ended")?.timestamp ?? "")
        )
      const late = (yield* endOn(leg)) - (yield* endOn(none))
      const { greetingLate = leg.late } = leg
      expect(late).toBeGreaterThanOrEqual(greetingLate)
      expect(late).toBeLessThanOrEqual(greetingLate + 30)
    })
  )
})

/** A caller who speaks over a long answer. */
const interrupted = (leg: Leg) =>
  on(leg, (call) =>
    Effect.gen(function* () {
      yield* call.wait("5 seconds")
      yield* call.say("tell me")
      yield* call.wait("5 seconds")
      yield* call.say("please stop")
      yield* call.wait("4 seconds")
      return { cut: cutsOf(call)[0] ?? "", turns: call.turns() }
    })
  )

describe("the transcript of an interruption", () => {
  it.live.each(legs)("has what the caller had heard by then, on a leg with $name", (leg) =>
    Effect.gen(function* () {
      const sent = (yield* interrupted(none)).result.cut
      const { cut, turns } = (yield* interrupted(leg)).result
      expect(sent.length).toBeGreaterThan(10)
      expect(story.startsWith(cut)).toBe(true)
      // 15 characters per second; one of them is aligned to less than a frame.
      const expected = (leg.late / 1000) * 15
      expect(sent.length - cut.length).toBeGreaterThanOrEqual(Math.floor(expected) - 1)
      expect(sent.length - cut.length).toBeLessThanOrEqual(Math.ceil(expected) + 2)
      expect(turns).toContain(`assistant: ${cut.trim()}`)
    })
  )
})

describe("a call without media", () => {
  /** Ends a call through the API, and switches media off after a time. Returns the hang-ups 3 and 16 s after that. */
  const endedWithoutMedia = (after: string) =>
    on({ name: "", format: mulaw8k, marks: "exact", late: 0 }, (call) =>
      Effect.gen(function* () {
        yield* call.wait("5 seconds")
        call.session.end("api")
        yield* call.wait(after as "1 second")
        yield* call.emit({ _tag: "Media", on: false })
        yield* call.wait("3 seconds")
        const soon = call.hangups.length
        yield* call.wait("13 seconds")
        return { soon, after: call.hangups.length, turns: call.turns() }
      })
    )

  it.live("that the API ends is hung up when the farewell that was sent must have been played", () =>
    Effect.gen(function* () {
      const { result } = yield* endedWithoutMedia("2 seconds")
      expect([result.soon, result.after]).toEqual([1, 1])
      expect(result.turns.at(-1)).toBe(`assistant: ${farewell}`)
    })
  )

  it.live("that the API ends is hung up within the limit of a farewell that was not sent", () =>
    Effect.gen(function* () {
      const { result } = yield* endedWithoutMedia("400 millis")
      expect([result.soon, result.after]).toEqual([0, 1])
    })
  )
})
