import { describe, expect, it } from "@effect/vitest"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

/** Whole calls with one voice, which hangs or gives garbage. */

type Voice = Context.Tag.Service<TextToSpeech>

/** The first `count` turns of the call never give audio. */
const hanging = (voice: Voice, count: number): { readonly voice: Voice; readonly asked: () => number } => {
  let asked = 0
  const hangs: Voice = {
    ...voice,
    voices: voice.voices,
    open: (request) => {
      if (request.callId === "caller" || ++asked > count) return voice.open(request)
      return Effect.succeed({ say: () => {}, end: () => {}, done: Effect.never })
    }
  }
  return { voice: hangs, asked: () => asked }
}

const prompts = configuration(
  { otherwise: "You said {{user}}." },
  { silence_prompts: { after_seconds: 5, say: "Are you still there?", max: 1 } }
).json

const callWith = (count: number) =>
  Effect.gen(function* () {
    let asked = () => 0
    const { result, state } = yield* during(
      ({ textToSpeech: [simulated] }) => {
        if (simulated === undefined) throw new Error("no voice")
        const made = hanging(simulated, count)
        asked = made.asked
        return { textToSpeech: [made.voice] }
      },
      ({ say, turns, wait }) =>
        Effect.gen(function* () {
          yield* wait("20 seconds")
          yield* say("One")
          yield* wait("6 seconds")
          return turns()
        }),
      prompts
    )
    return { turns: result, asked: asked(), warnings: state.warnings, outcome: state.outcome }
  })

describe("a voice that gives garbage", () => {
  it.live("for whole calls is a warning text-to-speech, once, and the call goes on", () =>
    Effect.gen(function* () {
      const { state } = yield* during(
        (loaded) => loaded,
        ({ say, wait }) =>
          Effect.gen(function* () {
            yield* wait("5 seconds")
            yield* say("One")
            yield* wait("6 seconds")
          }),
        configuration({ otherwise: "You said {{user}}, I think.", providers: { tts: { fail: "garbage" } } }).json
      )
      expect(state.warnings[0]).toMatchObject({
        what: "text-to-speech",
        reason: "the voice gave times for 600 characters of a text that has 6: its audio may not be this text"
      })
      expect(state.warnings.filter(({ reason }) => reason.includes("times for"))).toHaveLength(1)
      expect(state.transcript.map(({ content }) => content)).toContain("One")
      expect(state.outcome?.status).toBe("completed")
    })
  )
})

describe("the only voice", () => {
  it.live("that hangs with the greeting is asked once more, and the greeting is said", () =>
    Effect.gen(function* () {
      const { outcome, turns, warnings } = yield* callWith(1)
      expect(turns).toEqual([
        "assistant: Hello.",
        "assistant: Are you still there?",
        "user: One",
        "assistant: You said One."
      ])
      expect(warnings).toEqual([
        { at: expect.closeTo(11, 0), what: "text-to-speech", reason: "the voice gave no audio; it was asked again" }
      ])
      expect(outcome?.status).toBe("completed")
    })
  )

  it.live("that hangs with the greeting twice loses it: the caller is asked after a silence, and answered", () =>
    Effect.gen(function* () {
      const { outcome, turns, warnings } = yield* callWith(2)
      expect(turns).toEqual(["assistant: Are you still there?", "user: One", "assistant: You said One."])
      expect(warnings.map(({ reason, what }) => `${what}: ${reason}`)).toEqual([
        "text-to-speech: the voice gave no audio; it was asked again",
        "text-to-speech: the voice gave no audio"
      ])
      expect(outcome?.status).toBe("completed")
    })
  )
})
