import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { bySegments, type SpeechSegment, type Transcript } from "../src/SpeechSegments.ts"
import { type SpeechEvent, SpeechToTextError } from "../src/SpeechToText.ts"

const frame = (value: number) => new Int16Array(160).fill(value)

const optionsTo = (events: Array<SpeechEvent>) => ({
  callId: "call_1",
  language: "en-US",
  sampleRate: 8000,
  format: "smart" as const,
  keyterms: [],
  onEvent: (event: SpeechEvent) => void events.push(event)
})

/** Says the value of the first and the last sample of a segment, and its length in ms. */
const describeSegment = ({ samples }: SpeechSegment): Effect.Effect<Transcript> =>
  Effect.succeed({ text: `${samples[0]}-${samples.at(-1)} ${samples.length / 8}`, confidence: 1 })

const texts = (events: ReadonlyArray<SpeechEvent>) =>
  events.map((event) => (event._tag === "Final" ? event.text : event._tag))

const settled = Effect.replicateEffect(Effect.yieldNow(), 20)

describe("bySegments", () => {
  it.scoped("transcribes what is between voice activity, with up to 320 ms before it, in order", () =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      const session = yield* bySegments(describeSegment)(optionsTo(events))
      for (let value = 1; value <= 50; value++) session.push(frame(value))
      session.voiceActivity?.(true)
      session.voiceActivity?.(true)
      for (let value = 51; value <= 60; value++) session.push(frame(value))
      session.voiceActivity?.(false)
      session.voiceActivity?.(false)
      session.push(frame(61))
      session.voiceActivity?.(true)
      session.push(frame(62))
      session.voiceActivity?.(false)
      yield* settled
      expect(texts(events)).toEqual(["36-60 500", "61-62 40"])
    })
  )

  it.scoped("shifts the times of words to those of the session", () =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      const words = [{ text: "hi", start: 100, end: 200 }]
      const session = yield* bySegments(() => Effect.succeed({ text: "hi", confidence: 0.5, words }))(optionsTo(events))
      for (let value = 1; value <= 100; value++) session.push(frame(value))
      session.voiceActivity?.(true)
      session.push(frame(1))
      session.voiceActivity?.(false)
      yield* settled
      const shifted = [{ text: "hi", start: 1800, end: 1900 }]
      expect(events).toEqual([{ _tag: "Final", text: "hi", confidence: 0.5, words: shifted }])
    })
  )

  it.scoped("cuts when it is flushed and after 30 s of speech, and passes on what was changed", () =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      const session = yield* bySegments(({ options, samples }) =>
        Effect.succeed({ text: `${options.language} ${samples.length / 8}`, confidence: 1 })
      )(optionsTo(events))
      session.voiceActivity?.(true)
      for (let i = 0; i < 1600; i++) session.push(frame(1))
      session.flush?.()
      expect(session.update?.({ language: "de-DE" })).toBe(true)
      session.push(frame(1))
      session.voiceActivity?.(false)
      session.flush?.()
      yield* settled
      // The options are those of the time at which a segment is complete.
      expect(texts(events)).toEqual(["en-US 30000", "en-US 2000", "de-DE 20"])
    })
  )

  it.scoped("finish transcribes the rest before it completes, and nothing comes afterwards", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const events: Array<SpeechEvent> = []
      const session = yield* bySegments((segment) => Effect.zipRight(Deferred.await(go), describeSegment(segment)))(
        optionsTo(events)
      )
      session.voiceActivity?.(true)
      session.push(frame(1))
      const finishing = yield* Effect.fork(session.finish)
      yield* settled
      expect(finishing.unsafePoll()).toBeNull()
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(finishing)
      expect(texts(events)).toEqual(["1-1 20"])
      session.voiceActivity?.(true)
      session.push(frame(2))
      session.flush?.()
      yield* session.finish
      expect(texts(events)).toEqual(["1-1 20"])
    })
  )

  it.scoped("a segment that fails ends the session, and one in which nothing was said emits nothing", () =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      const error = new SpeechToTextError({ reason: "refused", retryable: true })
      let segments = 0
      const session = yield* bySegments(() =>
        segments++ === 0 ? Effect.succeed({ text: " ", confidence: 0 }) : Effect.fail(error)
      )(optionsTo(events))
      for (let i = 0; i < 4; i++) {
        session.voiceActivity?.(true)
        session.push(frame(1))
        session.voiceActivity?.(false)
        yield* settled
      }
      expect(events).toEqual([{ _tag: "Failed", error }])
      expect(segments).toBe(2)
    })
  )

  it.scoped("a segment whose transcription throws ends the session", () =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      const session = yield* bySegments(() => {
        throw new Error("no such file")
      })(optionsTo(events))
      session.voiceActivity?.(true)
      session.push(frame(1))
      session.voiceActivity?.(false)
      yield* session.finish
      expect(events).toMatchObject([{ _tag: "Failed", error: { reason: "crashed: Error: no such file" } }])
    })
  )

  it.effect("interrupts its request when the scope closes, and emits nothing", () =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      let interrupted = 0
      const begun = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const session = yield* Scope.extend(
        bySegments(() =>
          Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Effect.sync(() => interrupted++))
          )
        )(optionsTo(events)),
        scope
      )
      session.voiceActivity?.(true)
      session.push(frame(1))
      session.voiceActivity?.(false)
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      expect([interrupted, events]).toEqual([1, []])
    })
  )
})
