import { expect, it } from "@effect/vitest"
import { speakText } from "@svc/providers/SpeechTurn"
import { type AudioSink, TextToSpeech } from "@svc/providers/TextToSpeech"
import { type Clock, Effect, Fiber, Layer, TestClock } from "effect"
import { describe } from "vitest"
import { CallRequests } from "../../src/CallRequests.ts"
import { CallRealism } from "../../src/Realism/CallRealism.ts"
import type { TtsRealism } from "../../src/Realism/Realism.ts"
import { SimulatedTextToSpeech } from "../../src/SimulatedTextToSpeech.ts"
import { at8kHz, framesOf, hear } from "../Tones.ts"

/** `providers.tts`, measured at the sink. */

const Speech = SimulatedTextToSpeech.pipe(Layer.provideMerge(Layer.merge(CallRealism.layer, CallRequests.layer)))

const sinkOn = (clock: Clock.Clock) => {
  const now = () => clock.unsafeCurrentTimeMillis()
  const written: Array<{ readonly at: number; readonly samples: Int16Array }> = []
  const aligned: Array<{ readonly at: number; readonly characters: number; readonly atSample: number }> = []
  const sink: AudioSink = {
    write: (samples) => {
      written.push({ at: now(), samples })
      return false
    },
    align: (characters, atSample) => void aligned.push({ at: now(), characters, atSample }),
    // Room for one write comes every 50 ms.
    drained: Effect.sleep("50 millis")
  }
  const all = () => Int16Array.from(written.flatMap(({ samples }) => [...samples]))
  return { sink, written, aligned, all }
}

const speaking = (tts: TtsRealism, text = "Good morning", sampleRate = 8000) =>
  Effect.gen(function* () {
    const calls = yield* CallRealism
    calls.set("call_x", { tts })
    const provider = yield* TextToSpeech
    const heard = sinkOn(yield* Effect.clock)
    const fiber = yield* Effect.fork(
      Effect.exit(
        speakText(provider, {
          callId: "call_x",
          turn: "turn_x",
          speed: 1,
          text,
          voice: "Sarah",
          language: "en-US",
          sampleRate,
          sink: heard.sink
        })
      )
    )
    return { ...heard, fiber }
  })

describe("providers.tts", () => {
  it.effect("first_byte_ms delays the first audio of a turn", () =>
    Effect.gen(function* () {
      const { all, fiber, written } = yield* speaking({ first_byte_ms: 400 })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      expect(written[0]?.at).toBe(400)
      expect(hear(framesOf(all())).ended).toEqual([{ text: "Good morning", outcome: "ok" }])
    }).pipe(Effect.provide(Speech))
  )

  it.effect.each([8000, 16_000, 22_050, 24_000] as const)(
    "sample_rate %i is the only rate of the call",
    (sample_rate) =>
      Effect.gen(function* () {
        const { all, fiber } = yield* speaking({ sample_rate }, "Good morning", sample_rate)
        const provider = yield* TextToSpeech
        const turn = { callId: "call_x", voice: "Sarah", language: "en-US" }
        expect(provider.sampleRatesFor?.(turn)).toEqual([sample_rate])
        expect(provider.sampleRatesFor?.({ ...turn, callId: "call_y" })).toEqual(provider.sampleRates)
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(fiber)
        expect(hear(framesOf(at8kHz(all(), sample_rate))).ended).toEqual([{ text: "Good morning", outcome: "ok" }])
        const other = yield* speaking({ sample_rate }, "Good morning", sample_rate === 8000 ? 16_000 : 8000)
        expect(yield* Effect.map(Fiber.join(other.fiber), String)).toMatch(/Hz is not supported/)
      }).pipe(Effect.provide(Speech))
  )

  it.effect("burst writes all audio of a text at once, in chunks of odd lengths", () =>
    Effect.gen(function* () {
      const text = "A sentence that lasts for a few seconds"
      const { aligned, all, fiber, written } = yield* speaking({ burst: true }, text)
      yield* TestClock.adjust(0)
      yield* Fiber.join(fiber)
      expect(new Set(written.map(({ at }) => at))).toEqual(new Set([0]))
      expect(written.slice(0, -1).every(({ samples }) => samples.length % 2 === 1)).toBe(true)
      expect(new Set(written.map(({ samples }) => samples.length)).size).toBeGreaterThan(5)
      expect(hear(framesOf(all())).ended).toEqual([{ text, outcome: "ok" }])
      expect(aligned.at(-1)).toMatchObject({ characters: text.length })
    }).pipe(Effect.provide(Speech))
  )

  it.effect("late_align_ms tells alignment so long after its audio, in order, and ends the turn after it", () =>
    Effect.gen(function* () {
      const { aligned, fiber, written } = yield* speaking({ late_align_ms: 300 })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      expect(aligned.map(({ at }) => at)).toEqual(written.map(({ at }) => at + 300))
      expect(aligned.map(({ characters }) => characters)).toEqual(
        aligned.map(({ characters }) => characters).sort((a, b) => a - b)
      )
      expect(aligned.at(-1)).toMatchObject({ characters: "Good morning".length })
    }).pipe(Effect.provide(Speech))
  )

  it.effect("late alignment of a cancelled turn does not come", () =>
    Effect.gen(function* () {
      const { aligned, fiber } = yield* speaking({ late_align_ms: 300 })
      yield* TestClock.adjust("310 millis")
      yield* Fiber.interrupt(fiber)
      const before = aligned.length
      expect(before).toBeGreaterThan(0)
      yield* TestClock.adjust("1 minute")
      expect(aligned.length).toBe(before)
    }).pipe(Effect.provide(Speech))
  )

  it.effect("fail error fails without audio, fail hang gives none for ever", () =>
    Effect.gen(function* () {
      const failing = yield* speaking({ fail: "error" })
      expect(yield* Effect.map(Fiber.join(failing.fiber), String)).toMatch(/the script tells text-to-speech to fail/)
      const hanging = yield* speaking({ fail: "hang" })
      yield* TestClock.adjust("1 hour")
      expect(hanging.fiber.unsafePoll()).toBeNull()
      yield* Fiber.interrupt(hanging.fiber)
      expect([failing.written, hanging.written]).toEqual([[], []])
    }).pipe(Effect.provide(Speech))
  )

  it.effect(
    "fail garbage writes noise of odd lengths with alignment out of order, and each third time wrong types",
    () =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3]) {
          const { aligned, fiber, written } = yield* speaking({ fail: "garbage" })
          yield* TestClock.adjust(0)
          yield* Fiber.join(fiber)
          const lengths = written.map(({ samples }) => samples.length)
          expect([lengths.includes(0), lengths.includes(1), lengths.some((length) => length > 100)]).toEqual([
            true,
            true,
            true
          ])
          expect(aligned.some(({ characters }, i) => characters < (aligned[i - 1]?.characters ?? 0))).toBe(true)
          expect(aligned.some(({ characters }) => characters > "Good morning".length)).toBe(true)
          expect(written.every(({ samples }) => samples instanceof Int16Array)).toBe(n < 3)
          expect(aligned.every(({ characters }) => Number.isInteger(characters))).toBe(n < 3)
        }
      }).pipe(Effect.provide(Speech))
  )

  it.effect("the same call has the same faults", () =>
    Effect.gen(function* () {
      const run = Effect.gen(function* () {
        const { fiber, written } = yield* speaking({ burst: true }, "A sentence of some length")
        yield* TestClock.adjust(0)
        yield* Fiber.join(fiber)
        return written.map(({ samples }) => samples.length)
      })
      expect(yield* run).toEqual(yield* run)
    }).pipe(Effect.provide(Speech))
  )
})
