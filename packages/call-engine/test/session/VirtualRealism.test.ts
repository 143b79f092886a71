import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { mulawToPcm } from "@svc/providers/G711"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { transcribed } from "../doubles/Transcribed.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls in which the simulated providers behave like those of real vendors. */

const answerWith = (providers: unknown) =>
  configuration({ otherwise: "You said {{user}}.", providers }, { end_session_message: "Bye." }).json

/** A call in which the caller says two things. Times are those of the journal, in milliseconds. */
const converse = (call: VirtualCall) =>
  Effect.gen(function* () {
    const { hangups, heard, log, say, turns, wait } = call
    yield* wait("3 seconds")
    yield* say("One two")
    yield* wait("8 seconds")
    yield* say("Three four five")
    yield* wait("8 seconds")
    const timesOf = (tag: string) =>
      log.rows.flatMap(({ input }) => (input._tag !== "Facts" && input._tag === tag ? [input.at] : []))
    return { turns: turns(), heard: [...heard], hangups: [...hangups], timesOf }
  })

/** What the caller hears, frame by frame. */
interface Heard {
  readonly heard: ReadonlyArray<Uint8Array>
}

/** A call with this answer to `call.started`; also what the caller understood of what they heard. */
const callOf = <A extends Heard>(answer: unknown, act: (call: VirtualCall) => Effect.Effect<A>) =>
  Effect.gen(function* () {
    let recognizer: Context.Tag.Service<SpeechToText> | undefined
    const { result, state } = yield* during(
      ({ speechToText }) => {
        recognizer = speechToText[0]
        return {}
      },
      act,
      answer
    )
    if (recognizer === undefined) return yield* Effect.dieMessage("no recognizer")
    return { result, state, said: yield* transcribed(recognizer, mulaw8k, result.heard) }
  })

const callWith = (providers: unknown, act: typeof converse = converse) => callOf(answerWith(providers), act)

const understood = [
  "assistant: Hello.",
  "user: One two",
  "assistant: You said One two.",
  "user: Three four five",
  "assistant: You said Three four five."
]

const spoken = ["Hello.", "You said One two.", "You said Three four five."]

describe("a whole call with realistic speech-to-text", () => {
  it.live.each([
    ["finals after 700 ms", { final_after_ms: 700 }],
    ["partials every 100 ms that change their mind", { partial_every_ms: 100, revise: true }],
    ["eager ends of turns, some withdrawn", { eager: true, final_after_ms: 300 }],
    ["no ends of turns", { endpointing: "none" }],
    // Silence is pushed too.
    ["a session that breaks between two turns", { fail_every_s: 6 }]
  ] as const)("understands the caller in spite of %s", ([, stt]) =>
    Effect.gen(function* () {
      const { result, said, state } = yield* callWith({ stt })
      expect(result.turns).toEqual(understood)
      expect(said).toEqual(spoken)
      expect(state.failure).toBeNull()
    })
  )

  it.live("answers as much later as the final comes later", () =>
    Effect.gen(function* () {
      const ideal = yield* callWith({})
      const slow = yield* callWith({ stt: { final_after_ms: 700 } })
      const [, first = 0] = ideal.result.timesOf("SpeechStarted")
      const [, second = 0] = slow.result.timesOf("SpeechStarted")
      // The ideal final comes with the first frame of the last symbol, 40 ms before the end of the speech.
      expect(second - first).toBe(740)
    })
  )

  it.live.each([
    ["never come", { miss_final: 1 }],
    ["never come, nor ends of turns", { miss_final: 1, endpointing: "none" }],
    ["come 500 ms after the end of the turn", { late_final_ms: 500 }],
    ["come while the agent answers", { final_after_ms: 300, late_final_ms: 1500 }]
  ] as const)("takes all words once from finals that %s", ([, stt]) =>
    Effect.gen(function* () {
      const { result, said } = yield* callWith({ stt })
      expect(result.turns).toEqual(understood)
      expect(said).toEqual(spoken)
    })
  )

  it.live("ends turns after half a second of silence when the session does not", () =>
    Effect.gen(function* () {
      const { result } = yield* callWith({ stt: { endpointing: "none" } })
      const [stopped = 0] = result.timesOf("CallerSpeechStopped")
      const [, answered = 0] = result.timesOf("SpeechStarted")
      expect(answered - stopped).toBeLessThan(600)
    })
  )

  it.live("a session that breaks again and again ends the call with an apology and says why", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ stt: { fail_every_s: 1 } })
      const sorry =
        "assistant: I'm sorry, I can't hear you properly because of a technical problem. Please call again later."
      expect(result.turns.slice(-2)).toEqual([sorry, "assistant: Bye."])
      expect(result.hangups).toEqual(["error"])
      expect(state.failure?.stage).toBe("speech-to-text")
      expect(state.failure?.reason).toContain("the connection broke after 1 s of audio")
    })
  )
})

describe("a whole call with realistic text-to-speech", () => {
  it.live.each([
    ["at 22,050 Hz only", { sample_rate: 22_050 }],
    ["at 24 kHz only, all audio at once in odd chunks", { sample_rate: 24_000, burst: true }],
    ["with all audio at once in odd chunks", { burst: true }],
    ["with alignment 400 ms late", { late_align_ms: 400 }],
    ["with the first audio after 800 ms", { first_byte_ms: 800 }]
  ] as const)("is heard in full: a voice %s", ([, tts]) =>
    Effect.gen(function* () {
      const { result, said } = yield* callWith({ tts })
      expect(said).toEqual(spoken)
      expect(result.turns).toEqual(understood)
    })
  )

  it.live("begins to speak when the first audio comes", () =>
    Effect.gen(function* () {
      const ideal = yield* callWith({})
      const slow = yield* callWith({ tts: { first_byte_ms: 800 } })
      const before = ideal.result.timesOf("SpeechStarted")
      expect(slow.result.timesOf("SpeechStarted").map((at, n) => at - (before[n] ?? 0))).toEqual([800, 800, 800])
    })
  )

  it.live(
    "a voice that bursts a long text is stopped at once by the caller, and the transcript has what was heard",
    () =>
      Effect.gen(function* () {
        const text = "I have a free table at six, at seven, at eight and at nine in the evening of this day."
        const { result, said } = yield* callOf(
          configuration({ rules: [{ user: "when", say: text }], otherwise: "Ok.", providers: { tts: { burst: true } } })
            .json,
          (call) =>
            Effect.gen(function* () {
              yield* call.wait("3 seconds")
              yield* call.say("When")
              yield* call.wait("2500 millis")
              yield* call.say("At eight please")
              yield* call.wait("1 second")
              const heard = [...call.heard]
              yield* call.wait("8 seconds")
              return { heard, turns: call.turns() }
            })
        )
        const cut = said.at(-1) ?? ""
        expect(text.startsWith(cut) && cut.length < text.length / 2).toBe(true)
        expect(result.turns.slice(1)).toEqual([
          "user: When",
          `assistant: ${cut}`,
          "user: At eight please",
          "assistant: Ok."
        ])
      })
  )

  it.live("garbage is played as noise, and the call goes on", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ tts: { fail: "garbage" } })
      expect(result.turns.filter((turn) => turn.startsWith("user"))).toEqual(["user: One two", "user: Three four five"])
      expect(result.hangups).toEqual([])
      const pcm = new Int16Array(160)
      const loud = result.heard.filter((frame) => {
        mulawToPcm(frame, 0, 160, pcm, 0)
        return pcm.some((sample) => Math.abs(sample) > 10_000)
      })
      expect(loud.length).toBeGreaterThan(20)
      // The second text has times for more characters than it has, the third values of wrong types.
      expect(state.warnings.map(({ reason }) => reason)).toEqual([
        expect.stringMatching(/gave times for 600 characters/),
        expect.stringMatching(/reported something invalid/)
      ])
    })
  )

  it.live("a voice that fails twice ends the call and says why", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ tts: { fail: "error" } })
      expect(result.heard).toEqual([])
      expect(result.hangups).toEqual(["error"])
      expect(state.failure?.reason).toContain("the script tells text-to-speech to fail")
    })
  )

  it.live("a voice that hangs is given up after 10 s", () =>
    Effect.gen(function* () {
      const { result } = yield* callWith({ tts: { fail: "hang" } }, (call) =>
        Effect.zipRight(call.wait("11 seconds"), converse(call))
      )
      expect(result.timesOf("SpeechFailed")[0]).toBe(10_000)
    })
  )
})

describe("a whole call with a realistic language model", () => {
  const sorry = "assistant: I'm sorry, something went wrong. Could you please say that again?"

  it.live("apologizes for the request that fails", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ model: { fail_every: 2 } })
      expect(result.turns).toEqual([...understood.slice(0, 4), sorry])
      expect(state.warnings.map(({ reason }) => reason)).toEqual(["the script tells the model to fail"])
    })
  )

  it.live("speaks when the first sentence of a slow model is complete", () =>
    Effect.gen(function* () {
      const { result } = yield* callWith({ model: { first_token_ms: 900, tokens_per_second: 5 } })
      const [ended = 0] = result.timesOf("CallerEndOfTurn")
      const [, started = 0] = result.timesOf("SpeechStarted")
      // Four words.
      expect(started - ended).toBe(900 + 3 * 200)
      expect(result.turns).toEqual(understood)
    })
  )

  it.live("shows the developer a wrong field as a warning of the call", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ stt: { final_after: 300 } })
      expect(result.turns.slice(0, 3)).toEqual([...understood.slice(0, 2), sorry])
      expect(state.warnings[0]?.reason).toMatch(
        /providers\.stt\.final_after: is unexpected, expected: .*"fail_every_s"$/
      )
    })
  )
})
