import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { type LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import { bySegments } from "@svc/providers/SpeechSegments"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { SpeechToTextError } from "@svc/providers/SpeechToText"
import { byText, speakText } from "@svc/providers/SpeechTurn"
import { type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during, scriptedSpeechToText } from "../doubles/VirtualProviders.ts"

/** Whole calls with providers that hang, fail or return nothing, and with a fallback. */

const model = (generate: Context.Tag.Service<LanguageModel>["generate"]): Context.Tag.Service<LanguageModel> => ({
  id: "played",
  models: ["played"],
  health: Effect.succeed(healthy),
  generate
})

const voice = (speak: Parameters<typeof byText>[0]): Context.Tag.Service<TextToSpeech> => ({
  id: "played",
  voices: [{ name: "Sarah", languages: "*", gender: "female" }],
  sampleRates: [8000],
  health: Effect.succeed(healthy),
  open: byText(speak)
})

const answer = configuration({ otherwise: "You said {{user}}." }, { end_session_message: "Bye." }).json
const sorry = "assistant: I'm sorry, one moment please."

/** A model that never answers, with a count of its requests. */
const unanswering = () => {
  let asked = 0
  return {
    asked: () => asked,
    answer: Effect.suspend(() => {
      asked++
      return Effect.never
    })
  }
}

describe("a language model that hangs", () => {
  it.live("is given up after ten seconds with an apology; the fallback answers this and later turns", () =>
    Effect.gen(function* () {
      const silent = unanswering()
      const { result } = yield* during(
        (loaded) => ({
          languageModel: [model(() => silent.answer), ...loaded.languageModel]
        }),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("One")
            yield* wait("16 seconds")
            yield* say("Two")
            yield* wait("4 seconds")
            return turns()
          }),
        answer
      )
      expect(result).toEqual([
        "assistant: Hello.",
        "user: One",
        sorry,
        "assistant: You said One.",
        "user: Two",
        "assistant: You said Two."
      ])
      expect(silent.asked()).toBe(1)
    })
  )

  it.live("and a fallback that hangs end the call with its farewell and ended_reason error", () =>
    Effect.gen(function* () {
      const hangs = model(() => Effect.never)
      const { result, state } = yield* during(
        () => ({ languageModel: [hangs, hangs] }),
        ({ hangups, say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("One")
            yield* wait("25 seconds")
            return { turns: turns(), hangups: [...hangups] }
          }),
        answer
      )
      expect(result.turns.slice(2)).toEqual([sorry, "assistant: Bye."])
      expect(result.hangups).toEqual(["error"])
      expect(state.outcome).toEqual({ status: "failed", disposition: "failed", ended_reason: "error" })
    })
  )

  it.live("but fails at once is replaced by the fallback without an apology", () =>
    Effect.gen(function* () {
      const refuses = model(() => new LanguageModelError({ reason: "not used for a while", retryable: true }))
      const { result } = yield* during(
        (loaded) => ({ languageModel: [refuses, ...loaded.languageModel] }),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("One")
            yield* wait("4 seconds")
            return turns()
          }),
        answer
      )
      expect(result.slice(1)).toEqual(["user: One", "assistant: You said One."])
    })
  )
})

describe("text-to-speech", () => {
  it.live("that hangs is replaced with an apology, and no text is lost or spoken twice", () =>
    Effect.gen(function* () {
      const silent = unanswering()
      const { result } = yield* during(
        (loaded) => ({
          textToSpeech: [voice(() => silent.answer), ...loaded.textToSpeech]
        }),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("15 seconds")
            yield* say("One")
            yield* wait("4 seconds")
            return turns()
          }),
        answer
      )
      expect(result).toEqual([sorry, "assistant: Hello.", "user: One", "assistant: You said One."])
      expect(silent.asked()).toBe(1)
    })
  )

  it.live("that fails in the middle of an utterance is replaced at that word", () =>
    Effect.gen(function* () {
      const said: Array<string> = []
      const { result } = yield* during(
        ({ textToSpeech: [simulated, ...rest] }) => {
          if (simulated === undefined) throw new Error("no voice")
          const breaks = voice((request) =>
            Effect.gen(function* () {
              request.sink.write(new Int16Array(8000).fill(1000))
              request.sink.align("Good morning ".length, 8000)
              request.sink.write(new Int16Array(4000).fill(1000))
              request.sink.align("Good morning to a".length, 12_000)
              yield* Effect.sleep("1200 millis")
              return yield* new TextToSpeechError({ reason: "broke", retryable: true })
            })
          )
          const next = {
            ...simulated,
            open: byText((request) => {
              said.push(request.text)
              return speakText(simulated, request)
            })
          }
          return { textToSpeech: [breaks, next, ...rest] }
        },
        ({ turns, wait }) => Effect.zipRight(wait("12 seconds"), Effect.sync(turns)),
        { ...answer, first_message: "Good morning to all of you." }
      )
      expect(said).toEqual(["to all of you."])
      expect(result).toEqual(["assistant: Good morning to all of you."])
    })
  )

  it.live("that fails, with a fallback that fails too, ends the call without a farewell", () =>
    Effect.gen(function* () {
      const broken = voice(() => new TextToSpeechError({ reason: "broke", retryable: true }))
      const { result, state } = yield* during(
        () => ({ textToSpeech: [broken, broken] }),
        ({ turns, wait }) => Effect.zipRight(wait("3 seconds"), Effect.sync(turns)),
        answer
      )
      expect(result).toEqual([])
      expect(state.outcome?.ended_reason).toBe("error")
    })
  )
})

describe("speech-to-text", () => {
  const broken = new SpeechToTextError({ reason: "broken", retryable: true })

  it.live("that cannot be opened is replaced without the caller noticing", () =>
    Effect.gen(function* () {
      const refuses = { ...scriptedSpeechToText({}), open: () => broken }
      const { result } = yield* during(
        (loaded) => ({ speechToText: [refuses, ...loaded.speechToText] }),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("One")
            yield* wait("4 seconds")
            return turns()
          }),
        answer
      )
      expect(result).toEqual(["assistant: Hello.", "user: One", "assistant: You said One."])
    })
  )

  it.live("that fails while the caller speaks is replaced, and no word is lost", () =>
    Effect.gen(function* () {
      const breaks = scriptedSpeechToText({
        onFrame: (frame, emit) => {
          if (frame === 20) emit({ _tag: "Failed", error: broken })
        }
      })
      const { result } = yield* during(
        (loaded) => ({ speechToText: [breaks, ...loaded.speechToText] }),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("One two three four")
            yield* wait("9 seconds")
            yield* say("One")
            yield* wait("4 seconds")
            return turns()
          }),
        answer
      )
      expect(result.slice(1)).toEqual([
        "user: One two three four",
        "assistant: You said One two three four.",
        "user: One",
        "assistant: You said One."
      ])
    })
  )

  it.live("that had worked is opened again before the next provider is", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { result } = yield* during(
        ({ speechToText: [simulated] }) => {
          if (simulated === undefined) throw new Error("no recognizer")
          const logged = (id: string) => ({
            ...simulated,
            id,
            open: (options: Parameters<typeof simulated.open>[0]) =>
              Effect.suspend(() => {
                asked.push(id)
                const nth = asked.length
                let frames = 0
                const broken = new SpeechToTextError({ reason: "broken", retryable: true })
                return Effect.map(simulated.open(options), (session) => ({
                  ...session,
                  push: (frame: Int16Array) => {
                    session.push(frame)
                    if (nth < 3 && ++frames === 130) options.onEvent({ _tag: "Failed", error: broken })
                  }
                }))
              })
          })
          return { speechToText: [logged("first"), logged("second")] }
        },
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("One two three four")
            yield* wait("12 seconds")
            return turns()
          }),
        answer
      )
      expect(result.slice(1)).toEqual(["user: One two three four", "assistant: You said One two three four."])
      expect(asked).toEqual(["first", "first", "second"])
    })
  )

  it.live("that returns nothing is replaced after eight seconds of unrecognized speech", () =>
    Effect.gen(function* () {
      const { result } = yield* during(
        (loaded) => ({ speechToText: [scriptedSpeechToText({}), ...loaded.speechToText] }),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            for (let i = 0; i < 3; i++) {
              yield* say("Is there anybody there? Hello? I am still here.")
              yield* wait("7 seconds")
            }
            yield* wait("5 seconds")
            yield* say("One")
            yield* wait("4 seconds")
            return turns()
          }),
        answer
      )
      // The next one gets what was said in the last ten seconds.
      expect(result).toContain("user: Is there anybody there? Hello? I am still here.")
      expect(result.slice(-2)).toEqual(["user: One", "assistant: You said One."])
    })
  )
})

describe("speech-to-text that transcribes whole segments", () => {
  /** Plays each segment to a session of the simulated provider. */
  const bySegmentsOf = (simulated: Context.Tag.Service<SpeechToText>) => {
    const segments: Array<number> = []
    const open = bySegments(({ options, samples }) =>
      Effect.gen(function* () {
        segments.push(samples.length / 8)
        const words: Array<string> = []
        const session = yield* simulated.open({
          ...options,
          onEvent: (event) => void (event._tag === "Final" && words.push(event.text))
        })
        for (let at = 0; at + 160 <= samples.length; at += 160) session.push(samples.subarray(at, at + 160))
        yield* session.finish
        return { text: words.join(" "), confidence: 1 }
      }).pipe(Effect.scoped)
    )
    const provider = { ...simulated, open, capabilities: { ...simulated.capabilities, endpointing: "none" as const } }
    return { provider, segments }
  }

  it.live("hears each utterance that the voice activity detector cuts, and the agent answers", () =>
    Effect.gen(function* () {
      let segments: ReadonlyArray<number> = []
      const { result } = yield* during(
        ({ speechToText: [simulated] }) => {
          if (simulated === undefined) throw new Error("no recognizer")
          const whole = bySegmentsOf(simulated)
          segments = whole.segments
          return { speechToText: [whole.provider] }
        },
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("One")
            yield* wait("6 seconds")
            yield* say("Two")
            yield* wait("6 seconds")
            return turns()
          }),
        answer
      )
      expect(result).toEqual([
        "assistant: Hello.",
        "user: One",
        "assistant: You said One.",
        "user: Two",
        "assistant: You said Two."
      ])
      expect(segments).toHaveLength(2)
    })
  )
})
