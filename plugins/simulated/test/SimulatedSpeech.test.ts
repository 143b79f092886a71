import { describe, expect, it } from "@effect/vitest"
import { type SpeechEvent, SpeechToText, type SpeechToTextOptions } from "@svc/providers/SpeechToText"
import { speakText, type TextRequest } from "@svc/providers/SpeechTurn"
import { type AudioSink, TextToSpeech } from "@svc/providers/TextToSpeech"
import { Deferred, Effect, Fiber, Layer, Scope } from "effect"
import { CallRequests } from "../src/CallRequests.ts"
import { languages } from "../src/Languages.ts"
import { CallRealism } from "../src/Realism/CallRealism.ts"
import { SimulatedSpeechToText } from "../src/SimulatedSpeechToText.ts"
import { SimulatedTextToSpeech } from "../src/SimulatedTextToSpeech.ts"
import { hear, silence, toneFrames } from "./Tones.ts"

const Speech = Layer.merge(SimulatedSpeechToText, SimulatedTextToSpeech).pipe(
  Layer.provideMerge(Layer.merge(CallRealism.layer, CallRequests.layer))
)

/** A sink that records what is written. `full` decides after each write whether it is full. */
const makeSink = (full: (writes: number) => boolean = () => false, drained: Effect.Effect<void> = Effect.void) => {
  const written: Array<Int16Array> = []
  const aligned: Array<number> = []
  const sink: AudioSink = {
    write: (samples) => !full(written.push(samples)),
    align: (characters) => aligned.push(characters),
    drained
  }
  return { sink, written, aligned }
}

const frames = (written: ReadonlyArray<Int16Array>, frameLength: number): ReadonlyArray<Int16Array> => {
  const all = Int16Array.from(written.flatMap((samples) => [...samples]))
  return Array.from({ length: all.length / frameLength }, (_, i) => all.slice(i * frameLength, (i + 1) * frameLength))
}

const synthesis = (sink: AudioSink, more: Partial<TextRequest> = {}): TextRequest => ({
  callId: "call_x",
  turn: "turn_x",
  speed: 1,
  text: "Good morning",
  voice: "Sarah",
  language: "en-US",
  sampleRate: 8000,
  sink,
  ...more
})

const listening = (onEvent: (event: SpeechEvent) => void, more: Partial<SpeechToTextOptions> = {}) => ({
  callId: "call_x",
  language: "en-US",
  sampleRate: 8000,
  format: "smart" as const,
  keyterms: [],
  onEvent,
  ...more
})

describe("simulated text-to-speech", () => {
  it.effect.each([8000, 16_000, 24_000])(
    "writes whole frames of tone speech at %i Hz and aligns to the end of the text",
    (rate) =>
      Effect.gen(function* () {
        const tts = yield* TextToSpeech
        const { aligned, sink, written } = makeSink()
        yield* speakText(tts, synthesis(sink, { text: "Hé 😀 ok", sampleRate: rate }))
        expect(hear(frames(written, rate / 50), rate / 8000).ended).toEqual([{ text: "Hé 😀 ok", outcome: "ok" }])
        expect(aligned.at(-1)).toBe("Hé 😀 ok".length)
        expect(aligned).toEqual([...aligned].sort((a, b) => a - b))
        expect(Math.max(...written.map(({ length }) => length))).toBeLessThanOrEqual(rate * 0.08)
      }).pipe(Effect.provide(Speech))
  )

  it.effect("align gives exactly the characters that are decoded when the audio is cut there", () =>
    Effect.gen(function* () {
      const tts = yield* TextToSpeech
      const { aligned, sink, written } = makeSink()
      const text = "Zoë: 10 €, 😀!"
      yield* speakText(tts, synthesis(sink, { text }))
      for (const [index, characters] of aligned.entries()) {
        const cut = [...frames(written.slice(0, index + 1), 160), ...silence(10)]
        expect(hear(cut).ended[0]?.text).toBe(text.slice(0, characters))
      }
    }).pipe(Effect.provide(Speech))
  )

  it.effect("awaits drained when the sink is full, and writes all audio", () =>
    Effect.gen(function* () {
      const tts = yield* TextToSpeech
      const room = yield* Deferred.make<void>()
      const full = yield* Deferred.make<void>()
      const { sink, written } = makeSink(
        (writes) => writes === 3,
        Effect.zipRight(Deferred.succeed(full, undefined), Deferred.await(room))
      )
      const fiber = yield* Effect.fork(speakText(tts, synthesis(sink)))
      yield* Deferred.await(full)
      expect(written.length).toBe(3)
      yield* Deferred.succeed(room, undefined)
      yield* Fiber.join(fiber)
      expect(hear(frames(written, 160)).ended).toEqual([{ text: "Good morning", outcome: "ok" }])
    }).pipe(Effect.provide(Speech))
  )

  it.effect("writes nothing after its interruption", () =>
    Effect.gen(function* () {
      const tts = yield* TextToSpeech
      const room = yield* Deferred.make<void>()
      const full = yield* Deferred.make<void>()
      const { sink, written } = makeSink(
        (writes) => writes >= 2,
        Effect.zipRight(Deferred.succeed(full, undefined), Deferred.await(room))
      )
      const fiber = yield* Effect.fork(speakText(tts, synthesis(sink)))
      yield* Deferred.await(full)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.succeed(room, undefined)
      yield* Effect.yieldNow()
      expect(written.length).toBe(2)
    }).pipe(Effect.provide(Speech))
  )

  it.effect("other fibers run while it writes a very long text", () =>
    Effect.gen(function* () {
      const tts = yield* TextToSpeech
      const { sink, written } = makeSink()
      const fiber = yield* Effect.fork(speakText(tts, synthesis(sink, { text: "word ".repeat(2000) })))
      while (written.length === 0) yield* Effect.yieldNow()
      expect(written.length).toBeLessThanOrEqual(100)
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(Speech))
  )

  it.effect("voices has Sarah for all languages and another voice for each", () =>
    Effect.gen(function* () {
      const { voices } = yield* TextToSpeech
      expect(voices.find(({ name }) => name === "Sarah")?.languages).toBe("*")
      for (const language of languages) {
        expect(voices.some((voice) => voice.languages !== "*" && voice.languages.includes(language))).toBe(true)
      }
    }).pipe(Effect.provide(Speech))
  )

  it.effect.each([
    ["an unknown voice", { voice: "Nobody" }, 'there is no voice "Nobody"'],
    ["a voice of another language", { voice: "Lotte" }, 'the voice "Lotte" does not speak en-US'],
    ["an unknown language", { language: "xx-XX" }, 'the language "xx-XX" is not supported'],
    ["an unsupported sample rate", { sampleRate: 44_100 }, "44100 Hz is not supported"]
  ] as const)("fails for %s", ([, more, reason]) =>
    Effect.gen(function* () {
      const tts = yield* TextToSpeech
      const { sink, written } = makeSink()
      const error = yield* Effect.flip(speakText(tts, synthesis(sink, more)))
      expect([error.reason, error.retryable, written.length]).toEqual([reason, false, 0])
    }).pipe(Effect.provide(Speech))
  )

  it.effect("writes nothing for a blank text", () =>
    Effect.gen(function* () {
      const tts = yield* TextToSpeech
      const { sink, written } = makeSink()
      yield* speakText(tts, synthesis(sink, { text: " \n" }))
      expect(written).toEqual([])
    }).pipe(Effect.provide(Speech))
  )
})

describe("simulated speech-to-text", () => {
  it.scoped("emits SpeechStarted, Partial for each word, Final and EndOfTurn", () =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const events: Array<SpeechEvent> = []
      const session = yield* stt.open(listening((event) => events.push(event)))
      for (const frame of toneFrames("I see you")) session.push(frame)
      expect(events).toEqual([
        { _tag: "SpeechStarted" },
        { _tag: "Partial", text: "I" },
        { _tag: "Partial", text: "I see" },
        { _tag: "Final", text: "I see you", confidence: 1 },
        { _tag: "EndOfTurn" }
      ])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("the confidence of cut or damaged speech is lower", () =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const finals: Array<unknown> = []
      const session = yield* stt.open(
        listening((event) => event._tag === "Final" && finals.push([event.text, event.confidence]))
      )
      for (const frame of [...toneFrames("broken off").slice(0, 21), ...silence(10)]) session.push(frame)
      for (const frame of toneFrames("hello").slice(9)) session.push(frame)
      expect(finals).toEqual([
        ["broken", 0.7],
        ["llo", 0.5]
      ])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("finish emits the words so far, and nothing follows", () =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const events: Array<SpeechEvent> = []
      const session = yield* stt.open(listening((event) => events.push(event)))
      for (const frame of toneFrames("hello").slice(0, 12)) session.push(frame)
      yield* session.finish
      expect(events.slice(-2)).toEqual([{ _tag: "Final", text: "hel", confidence: 0.7 }, { _tag: "EndOfTurn" }])
      const before = events.length
      for (const frame of toneFrames("more")) session.push(frame)
      yield* session.finish
      expect(events.length).toBe(before)
    }).pipe(Effect.provide(Speech))
  )

  it.effect("emits nothing after its scope was closed", () =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const events: Array<SpeechEvent> = []
      const scope = yield* Scope.make()
      const session = yield* Scope.extend(stt.open(listening((event) => events.push(event))), scope)
      for (const frame of toneFrames("hello").slice(0, 12)) session.push(frame)
      yield* Scope.close(scope, yield* Effect.exit(Effect.void))
      const before = events.length
      for (const frame of toneFrames("more")) session.push(frame)
      yield* session.finish
      expect(events.length).toBe(before)
    }).pipe(Effect.provide(Speech))
  )

  it.scoped("speech without a character has no Final", () =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const events: Array<SpeechEvent> = []
      const session = yield* stt.open(listening((event) => events.push(event)))
      for (const frame of [...toneFrames("x").slice(0, 3), ...silence(12)]) session.push(frame)
      expect(events).toEqual([{ _tag: "SpeechStarted" }])
    }).pipe(Effect.provide(Speech))
  )

  it.scoped.each([
    ["an unknown language", { language: "xx" }, 'the language "xx" is not supported'],
    ["an unsupported sample rate", { sampleRate: 11_025 }, "11025 Hz is not supported"]
  ] as const)("fails for %s", ([, more, reason]) =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const error = yield* Effect.flip(stt.open(listening(() => {}, more)))
      expect([error.reason, error.retryable]).toEqual([reason, false])
    }).pipe(Effect.provide(Speech))
  )
})

describe("CallRequests", () => {
  it.scoped("keeps the latest stt and tts request of a call", () =>
    Effect.gen(function* () {
      const stt = yield* SpeechToText
      const tts = yield* TextToSpeech
      const requests = yield* CallRequests
      yield* stt.open(listening(() => {}, { language: "nl-NL", format: "numerals", keyterms: ["Svc"] }))
      yield* speakText(tts, synthesis(makeSink().sink))
      yield* speakText(tts, synthesis(makeSink().sink, { voice: "Lotte", language: "nl-NL" }))
      expect(requests.get("call_x")).toEqual({
        stt: { language: "nl-NL", format: "numerals", keyterms: ["Svc"] },
        tts: { language: "nl-NL", voice: "Lotte" }
      })
      expect(requests.get("call_y")).toBeUndefined()
    }).pipe(Effect.provide(Speech))
  )

  it.effect("drops the oldest call when there are more than 2000", () =>
    Effect.gen(function* () {
      const requests = yield* CallRequests
      for (let call = 0; call < 2001; call++) requests.record(`call_${call}`, {})
      expect(requests.get("call_0")).toBeUndefined()
      expect(requests.get("call_1")).toEqual({ stt: null, tts: null })
    }).pipe(Effect.provide(Speech))
  )
})
