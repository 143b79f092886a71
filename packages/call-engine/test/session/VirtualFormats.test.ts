import { describe, expect, it } from "@effect/vitest"
import { type AudioFormat, legFormats } from "@svc/providers/Audio"
import type { Providers } from "@svc/providers/Providers"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { transcribed } from "../doubles/Transcribed.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls on legs of each format, with speech providers of other sample rates. */

const nameOf = ({ encoding, sampleRate }: AudioFormat) => `${encoding} at ${sampleRate} Hz`

const answer = configuration({ otherwise: "You said {{user}}." }, { end_session_message: "Bye." }).json

/** Only these rates of the simulated recognizer and voice. */
const only =
  (recognizerRate: number, voiceRate: number) =>
  ({ speechToText, textToSpeech }: Context.Tag.Service<Providers>) => ({
    speechToText: speechToText.map((one) => ({
      ...one,
      capabilities: { ...one.capabilities, sampleRates: [recognizerRate] }
    })),
    textToSpeech: textToSpeech.map((one) => ({ ...one, sampleRates: [voiceRate] }))
  })

const converse = ({ heard, say, turns, wait }: VirtualCall) =>
  Effect.gen(function* () {
    yield* wait("3 seconds")
    yield* say("One two")
    yield* wait("6 seconds")
    return { heard, turns: turns() }
  })

const cases = legFormats.flatMap((format) =>
  [8000, 16_000, 24_000].map((rate) => ({ format, rate, name: `${nameOf(format)}, speech at ${rate} Hz` }))
)

/** Two tones for 60 ms, and 60 ms of silence. */
const tones = (low: number, high: number, sampleRate: number): Int16Array =>
  Int16Array.from({ length: 0.12 * sampleRate }, (_, n) =>
    n < 0.06 * sampleRate
      ? Math.round(
          6000 * (Math.sin((2 * Math.PI * low * n) / sampleRate) + Math.sin((2 * Math.PI * high * n) / sampleRate))
        )
      : 0
  )

describe("a whole call", () => {
  it.live.each(legFormats.flatMap((format) => [true, false].map((keyEvents) => ({ format, keyEvents }))))(
    "finds digits in the sound only on a leg without key events: $format.encoding, events $keyEvents",
    ({ format, keyEvents }) =>
      Effect.gen(function* () {
        const { result } = yield* during(
          () => ({}),
          ({ log, play, wait }) =>
            Effect.gen(function* () {
              yield* wait("3 seconds")
              for (const [low, high] of [
                [770, 1336],
                [770, 1336],
                [941, 1477]
              ] as const) {
                yield* play(tones(low, high, format.sampleRate))
                yield* wait("200 millis")
              }
              yield* wait("1 second")
              return log.rows.flatMap(({ input }) => (input._tag === "Dtmf" ? [input.digit] : [])).join("")
            }),
          answer,
          [],
          { format, keyEvents }
        )
        expect(result).toBe(keyEvents ? "" : "55#")
      })
  )

  it.live(
    "counts a digit once on a leg without key events that reports it as an event too, before or after its tone",
    () =>
      Effect.gen(function* () {
        const format = { encoding: "mulaw", sampleRate: 8000 } as const
        const { result } = yield* during(
          () => ({}),
          ({ log, play, press, wait }) =>
            Effect.gen(function* () {
              yield* wait("3 seconds")
              for (const [key, low, high, first] of [
                ["5", 770, 1336, true],
                ["5", 770, 1336, false],
                ["#", 941, 1477, true]
              ] as const) {
                if (first) yield* press(key, "rfc4733")
                yield* play(tones(low, high, format.sampleRate))
                yield* wait("200 millis")
                if (!first) yield* press(key, "rfc4733")
                yield* wait("100 millis")
              }
              yield* wait("1 second")
              return log.rows.flatMap(({ input }) => (input._tag === "Dtmf" ? [input.digit] : [])).join("")
            }),
          answer,
          [],
          { format, keyEvents: false }
        )
        expect(result).toBe("55#")
      })
  )

  it.live.each(cases)("on a leg of $name is understood by both sides", ({ format, rate }) =>
    Effect.gen(function* () {
      let recognizer: Context.Tag.Service<SpeechToText> | undefined
      const { result } = yield* during(
        (loaded) => {
          recognizer = loaded.speechToText[0]
          return only(rate, rate)(loaded)
        },
        converse,
        answer,
        [],
        { format }
      )
      expect(result.turns).toEqual(["assistant: Hello.", "user: One two", "assistant: You said One two."])
      if (recognizer === undefined) return yield* Effect.dieMessage("no recognizer")
      expect(yield* transcribed(recognizer, format, result.heard)).toEqual(["Hello.", "You said One two."])
    })
  )
})
