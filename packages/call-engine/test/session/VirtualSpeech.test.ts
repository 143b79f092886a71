import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import type { Providers } from "@svc/providers/Providers"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { transcribed } from "../doubles/Transcribed.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls: how an answer is spoken, stopped, and goes on. */

type Voice = Context.Tag.Service<TextToSpeech>

/** What a voice was asked for: turns, texts, ends and cancellations. */
const logged = (voice: Voice, log: Array<string>): Voice => ({
  ...voice,
  get voices() {
    return voice.voices
  },
  open: (request) =>
    Effect.gen(function* () {
      if (request.callId === "caller") return yield* voice.open(request)
      log.push("open")
      let isEnded = false
      yield* Effect.addFinalizer(() => Effect.sync(() => void (isEnded || log.push("cancel"))))
      const turn = yield* voice.open(request)
      return {
        say: (text) => {
          log.push(text)
          turn.say(text)
        },
        end: () => {
          log.push("end")
          turn.end()
        },
        done: Effect.tap(turn.done, () => Effect.sync(() => (isEnded = true)))
      }
    })
})

/** Sound is speech, whatever it is. */
const loud: NonNullable<Context.Tag.Service<Providers>["voiceActivity"]> = {
  open: () => ({ push: (frame) => (frame.some((sample) => Math.abs(sample) > 2000) ? "speech" : "silence") })
}

/** A hum of so many seconds, which nothing is recognized of. */
const hum = (seconds: number): Int16Array =>
  Int16Array.from({ length: 8000 * (seconds + 0.2) }, (_, n) =>
    n < 8000 * seconds ? Math.round(8000 * Math.sin((2 * Math.PI * 210 * n) / 8000)) : 0
  )

/** A buzz of so many seconds, which stays the same. */
const buzz = (seconds: number): Int16Array =>
  Int16Array.from({ length: 8000 * (seconds + 0.5) }, (_, n) =>
    n < 8000 * seconds ? (n % 66 < 33 ? 4000 : -4000) * (0.7 + 0.3 * Math.sin((2 * Math.PI * n) / 2000)) : 0
  )

/** A text as it is heard without the silence when it was cut and went on: from the beginning of the word that was cut. */
const again = (text: string, rows: VirtualCall["log"]["rows"]): string => {
  const played =
    rows.flatMap(({ input }) => (input._tag === "SpeechCleared" ? [input.cuts[0]?.played ?? ""] : []))[0] ?? ""
  const word = text.charAt(played.length) === " " ? played.length + 1 : played.lastIndexOf(" ") + 1
  return played + text.slice(word)
}

/** A call with this answer of the model, and these providers of the simulation. */
const callWith = <A>(
  say: string,
  providers: unknown,
  act: (call: VirtualCall, asked: Array<string>) => Effect.Effect<A>
) =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    let recognizer: Context.Tag.Service<SpeechToText> | undefined
    const { result, state } = yield* during(
      ({ speechToText, textToSpeech }) => {
        recognizer = speechToText[0]
        return { voiceActivity: loud, textToSpeech: textToSpeech.map((voice) => logged(voice, asked)) }
      },
      (call) =>
        Effect.gen(function* () {
          yield* call.wait("3 seconds")
          asked.length = 0
          yield* call.say("Go")
          const result = yield* act(call, asked)
          return { result, heard: [...call.heard], turns: call.turns(), rows: call.log.rows }
        }),
      configuration({ rules: [{ user: "Go", say }], otherwise: "Ok.", providers }).json
    )
    if (recognizer === undefined) return yield* Effect.dieMessage("no recognizer")
    const said = yield* transcribed(recognizer, mulaw8k, result.heard)
    const timeOf = (tag: string, n = 0) =>
      result.rows.flatMap(({ input }) => (input._tag !== "Facts" && input._tag === tag ? [input.at] : [])).at(n) ?? 0
    return { ...result, asked, state, said, timeOf }
  })

const story = "This is a long story about a man who went to sea and who did not come home again for many years."

describe("an answer", () => {
  const hours = "We are open from nine, and we close at five on all weekdays of the year. Do come by."

  it.live("begins with its first clause, and is one turn of the voice", () =>
    Effect.gen(function* () {
      const { asked, said, timeOf, turns } = yield* callWith(
        hours,
        { model: { first_token_ms: 400, tokens_per_second: 10 }, tts: { first_byte_ms: 200 } },
        (call) => call.wait("14 seconds")
      )
      // Five words; the whole sentence would take ten more.
      expect(timeOf("SpeechStarted", 1) - timeOf("CallerEndOfTurn")).toBe(400 + 4 * 100 + 200)
      expect(asked).toEqual([
        "open",
        "We are open from nine,",
        " and we close at five on all weekdays of the year.",
        " Do come by.",
        "end"
      ])
      expect(said.slice(1)).toEqual([
        "We are open from nine,",
        "and we close at five on all weekdays of the year.",
        "Do come by."
      ])
      expect(turns.at(-1)).toBe(`assistant: ${hours}`)
    })
  )

  it.live("has the model's line breaks in the transcript, also up to the character where it was cut", () =>
    Effect.gen(function* () {
      const list = "We have these:\n\n- apples and pears.\n- oranges,  too.\n\nWhich of these would you like to order?"
      const model = { first_token_ms: 100, tokens_per_second: 30 }
      const whole = yield* callWith(list, { model }, (call) => call.wait("12 seconds"))
      expect(whole.turns.at(-1)).toBe(`assistant: ${list}`)
      const cut = yield* callWith(list, { model }, (call) =>
        Effect.gen(function* () {
          yield* call.wait("4 seconds")
          yield* call.say("No, wait please")
          yield* call.wait("6 seconds")
        })
      )
      const heard = cut.turns.at(2)?.slice("assistant: ".length) ?? "-"
      expect(list.startsWith(heard)).toBe(true)
      expect(heard).toContain("pears.\n- ")
    })
  )

  it.live("that reaches model.max_tokens ends with its last whole sentence, with one warning", () =>
    Effect.gen(function* () {
      const rules = [{ user: "Go", say: "That is twenty euros in all. And the delivery to your home takes two days." }]
      const { result, state } = yield* during(
        (loaded) => loaded,
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("Go")
            yield* wait("6 seconds")
            yield* say("Go")
            yield* wait("6 seconds")
            return turns()
          }),
        // The simulated model counts 4 characters as a token.
        configuration({ rules, providers: { model: { tokens_per_second: 20 } } }, { model: { max_tokens: 16 } }).json
      )
      const said = "assistant: That is twenty euros in all."
      expect(result).toEqual(["assistant: Hello.", "user: Go", said, "user: Go", said])
      expect(state.warnings).toMatchObject([
        { what: "language-model", reason: expect.stringMatching(/no end: .*max_tokens \(16\)/) }
      ])
    })
  )

  it.live("of an emoji alone is none: the agent apologizes, and no voice is asked for it", () =>
    Effect.gen(function* () {
      const { asked, state, turns } = yield* callWith("👍", {}, (call) => call.wait("8 seconds"))
      expect(turns.slice(1)).toEqual([
        "user: Go",
        "assistant: I'm sorry, something went wrong. Could you please say that again?"
      ])
      expect(asked.filter((what) => what !== "open" && what !== "end")).toEqual([turns.at(-1)?.slice(11)])
      expect(state.warnings.map(({ reason }) => reason)).toEqual(["the model returned nothing that can be spoken"])
    })
  )

  it.live("that the caller interrupts is cancelled at the voice, and no text follows", () =>
    Effect.gen(function* () {
      const { asked, turns } = yield* callWith(
        hours,
        { model: { first_token_ms: 100, tokens_per_second: 5 }, tts: { first_byte_ms: 200 } },
        (call) =>
          Effect.gen(function* () {
            yield* call.wait("2500 millis")
            yield* call.say("No, wait please")
            yield* call.wait("8 seconds")
          })
      )
      expect(asked.slice(0, 3)).toEqual(["open", "We are open from nine,", "cancel"])
      expect(turns.slice(2)).toEqual(["assistant: We are open from ni", "user: No, wait please", "assistant: Ok."])
    })
  )
})

describe("speech that a noise stopped", () => {
  const interrupted = (tts: unknown) =>
    callWith(story, { tts }, (call, asked) =>
      Effect.gen(function* () {
        yield* call.wait("3 seconds")
        yield* call.play(hum(0.9))
        yield* call.wait("2 seconds")
        const before = [...asked]
        yield* call.wait("12 seconds")
        return before
      })
    )

  it.live.each([
    ["ideal", {}],
    ["with all audio at once in odd chunks", { burst: true, sample_rate: 22_050 }],
    ["with alignment 1 s late", { late_align_ms: 1000 }]
  ])("goes on with the same audio: a voice %s", ([, tts]) =>
    Effect.gen(function* () {
      const { asked, result, rows, said, turns, timeOf } = yield* interrupted(tts)
      expect(result).toEqual(["open", story, "end"])
      expect(asked).toEqual(result)
      expect(said.slice(1)).toEqual([again(story, rows)])
      expect(turns.at(-1)).toBe(`assistant: ${story}`)
      expect(timeOf("SpeechStarted", 2)).toBeGreaterThan(timeOf("SpeechCleared"))
    })
  )

  it.live("goes on at once when the words were none: no second request to the voice", () =>
    Effect.gen(function* () {
      const { asked } = yield* interrupted({ first_byte_ms: 300 })
      expect(asked.filter((what) => what === "open")).toHaveLength(1)
    })
  )

  it.live("is dropped when words follow, and cancelled at the voice", () =>
    Effect.gen(function* () {
      const { asked, turns } = yield* callWith(`${story} ${story}`, {}, (call) =>
        Effect.gen(function* () {
          yield* call.wait("3 seconds")
          yield* call.play(hum(0.9))
          yield* call.wait("1 second")
          yield* call.say("No more of that")
          yield* call.wait("6 seconds")
        })
      )
      expect(asked.filter((what) => what === "cancel")).toHaveLength(1)
      expect(turns.slice(-2)).toEqual(["user: No more of that", "assistant: Ok."])
      expect(story.startsWith(turns.at(-3)?.slice("assistant: ".length) ?? "-")).toBe(true)
    })
  )

  it.live("is stopped again where the caller heard it", () =>
    Effect.gen(function* () {
      const { rows, said, turns } = yield* callWith(story, {}, (call) =>
        Effect.gen(function* () {
          yield* call.wait("3 seconds")
          yield* call.play(hum(0.9))
          yield* call.wait("4 seconds")
          yield* call.say("Enough now")
          yield* call.wait("5 seconds")
        })
      )
      const cuts = rows.flatMap(({ input }) =>
        input._tag === "SpeechCleared" ? input.cuts.map((cut) => cut.played) : []
      )
      const cut = turns.at(-3)?.slice("assistant: ".length) ?? "-"
      expect(cuts.map((played) => played.trim())).toEqual([cuts[0]?.trim(), cut])
      expect(cut.length).toBeGreaterThan((cuts[0]?.length ?? 0) + 10)
      expect(story.startsWith(cut)).toBe(true)
      expect(said[1]).toBe(again(cut, rows))
    })
  )
})

describe("speech that a buzz stopped", () => {
  const resumed = (seconds: number) =>
    Effect.gen(function* () {
      const { result } = yield* during(
        // The engine's own detector takes a steady sound for noise after some seconds.
        (loaded) => loaded,
        ({ log, play, say, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("Go")
            yield* wait("5 seconds")
            yield* play(buzz(seconds))
            yield* wait("25 seconds")
            const started = log.rows.flatMap(({ input }) => (input._tag === "SpeechStarted" ? [input.at] : []))
            return started.find((at) => at > 8500) ?? 0
          }),
        configuration({ rules: [{ user: "Go", say: `${story} ${story}` }], otherwise: "Ok." }).json
      )
      // From the end of the buzz.
      return result - (8000 + seconds * 1000)
    })

  it.live("goes on half a second after it, although voice activity has ended before", () =>
    Effect.gen(function* () {
      const after = yield* resumed(6)
      expect(after).toBeGreaterThanOrEqual(500)
      expect(after).toBeLessThan(1000)
    })
  )

  it.live("goes on during one that does not end: it is the noise of the line", () =>
    Effect.gen(function* () {
      const after = yield* resumed(22)
      expect(after).toBeLessThan(-3000)
      expect(after).toBeGreaterThan(-12_000)
    })
  )
})

describe("ai.speech.ended", () => {
  it.live("has the duration of what was played, although word times come 1 s late", () =>
    Effect.gen(function* () {
      const durationWith = (tts: unknown) =>
        Effect.map(
          callWith("It is nine in the morning.", { tts }, (call) =>
            Effect.map(call.wait("9 seconds"), () =>
              call.log.events.flatMap((event) => (event.event === "ai.speech.ended" ? [event.data.duration_ms] : []))
            )
          ),
          ({ result }) => result.at(-1) ?? 0
        )
      const exact = yield* durationWith({})
      const late = yield* durationWith({ late_align_ms: 1000 })
      expect(exact).toBeGreaterThan(1000)
      expect(Math.abs(late - exact)).toBeLessThanOrEqual(40)
    })
  )
})

describe("a cut", () => {
  it.live("is where the caller heard it, although word times come 1 s late", () =>
    Effect.gen(function* () {
      const cutWith = (tts: unknown) =>
        Effect.map(
          callWith(story, { tts }, (call) =>
            Effect.gen(function* () {
              yield* call.wait("1500 millis")
              yield* call.say("Stop it now")
              yield* call.wait("5 seconds")
            })
          ),
          ({ turns }) => turns.at(-3)?.slice("assistant: ".length) ?? ""
        )
      const exact = yield* cutWith({})
      const late = yield* cutWith({ late_align_ms: 1000 })
      expect(exact.length).toBeGreaterThan(10)
      expect(exact.startsWith(late)).toBe(true)
      // To the word.
      expect(exact.length - late.length).toBeLessThan(10)
    })
  )
})
