import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

/** Whole calls in virtual time whose caller goes on in another language. */

const answer = configuration({ otherwise: "Ok." }, { languages: ["nl-NL"] }).json

/** Hears a Dutch sentence at 3 s of its audio, and a second turn at 8 s; `events`: what it was asked for. */
const dutchCaller = (events: Array<string>, canUpdate: boolean): Context.Tag.Service<SpeechToText> => ({
  id: "detecting",
  capabilities: { languages: ["en-US", "nl-NL"], endpointing: "provider", sampleRates: [8000], keyterms: false },
  health: Effect.succeed(healthy),
  open: ({ language, onEvent }) =>
    Effect.sync(() => {
      events.push(`open ${language}`)
      let frame = 0
      return {
        push: () => {
          frame++
          if (frame !== 150 && frame !== 400) return
          onEvent({ _tag: "Final", text: "Spreekt u ook Nederlands?", confidence: 1, language: "nl" })
          onEvent({ _tag: "EndOfTurn" })
        },
        ...(canUpdate && {
          update: (change: { readonly language?: string }) => {
            events.push(`update ${change.language}`)
            return true
          }
        }),
        finish: Effect.void
      }
    })
})

/** Notes the voice and language of each turn. */
const noting = (provider: Context.Tag.Service<TextToSpeech>, spoken: Array<string>): typeof provider => ({
  ...provider,
  open: (turn) => {
    spoken.push(`${turn.voice} ${turn.language}`)
    return provider.open(turn)
  }
})

const callWith = (canUpdate: boolean) =>
  Effect.gen(function* () {
    const events: Array<string> = []
    const spoken: Array<string> = []
    const { result, state } = yield* during(
      ({ textToSpeech: [voice] }) => ({
        speechToText: [dutchCaller(events, canUpdate)],
        textToSpeech: voice === undefined ? [] : [noting(voice, spoken)]
      }),
      ({ play, turns, wait }) =>
        Effect.gen(function* () {
          yield* play(new Int16Array(14 * 8000))
          yield* wait("14 seconds")
          return turns()
        }),
      answer
    )
    return { events, spoken, state, turns: result }
  })

describe("a caller who goes on in another language of the call", () => {
  it.effect("is heard by the same session, and answered by the voice of the language in that turn", () =>
    Effect.gen(function* () {
      const { events, spoken, state, turns } = yield* callWith(true)
      expect(events).toEqual(["open en-US", "update nl-NL"])
      expect(spoken.slice(0, 2)).toEqual(["Sarah en-US", expect.stringMatching(/ nl-NL$/)])
      expect(turns.slice(0, 3)).toEqual(["assistant: Hello.", "user: Spreekt u ook Nederlands?", "assistant: Ok."])
      // The second turn is heard as well.
      expect(turns.filter((turn) => turn.startsWith("user"))).toHaveLength(2)
      expect(state.config?.language).toBe("nl-NL")
    })
  )

  it.effect("is heard by a new session where the recognizer cannot change its language", () =>
    Effect.gen(function* () {
      const { events, state } = yield* callWith(false)
      expect(events).toEqual(["open en-US", "open nl-NL"])
      expect(state.config?.language).toBe("nl-NL")
    })
  )
})
