import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { type Context, Effect } from "effect"
import { chooseRecognizer } from "../../src/session/RecognizerChoice.ts"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

type Provider = Context.Tag.Service<SpeechToText>

/** Says a Dutch sentence after 3 s of audio, and that it is Dutch; notes how it was opened. */
const provider = (
  id: string,
  languages: ReadonlyArray<string>,
  opened: Array<string> = [],
  endpointing: "provider" | "none" = "provider"
): Provider => ({
  id,
  capabilities: { languages, endpointing, sampleRates: [8000], keyterms: false },
  health: Effect.succeed(healthy),
  open: ({ language, onEvent }) =>
    Effect.sync(() => {
      opened.push(`${id} ${language}`)
      let frame = 0
      return {
        push: () => {
          if (++frame !== 150) return
          onEvent({ _tag: "Final", text: "Spreekt u ook Nederlands?", confidence: 1, language: "nl" })
          if (endpointing === "provider") onEvent({ _tag: "EndOfTurn" })
        },
        update: () => true,
        finish: Effect.void
      }
    })
})

describe("the recognizer for a language", () => {
  const all = [provider("en", ["en-US"]), provider("any", ["en-US", "nl-NL", "de"]), provider("nl", ["nl-NL"])]

  it.each([
    ["en-US", 0, "en"],
    ["nl-NL", 0, "any"],
    ["nl-NL", 1, "nl"],
    ["nl-NL", 2, "nl"],
    ["de-DE", 0, "any"],
    ["DE-at", 1, "any"],
    ["fr-FR", 0, "en"],
    ["fr-FR", 3, undefined]
  ] as const)("%s, index %i is %s", (language, index, id) => {
    expect(chooseRecognizer(all, language, index)?.id).toBe(id)
  })

  it.live("is passed over in a call when it does not have the language and another has it", () =>
    Effect.gen(function* () {
      const opened: Array<string> = []
      yield* during(
        () => ({ speechToText: [provider("en", ["en-US"], opened), provider("nl", ["nl-NL"], opened)] }),
        ({ wait }) => wait("2 seconds"),
        configuration({ otherwise: "Ok." }, { language: "nl-NL" }).json
      )
      expect(opened).toEqual(["nl nl-NL"])
    })
  )

  it.live("changes within the turn in which the caller's language is detected, and so does what ends a turn", () =>
    Effect.gen(function* () {
      const opened: Array<string> = []
      const { result, state } = yield* during(
        () => ({
          speechToText: [provider("en", ["en-US"], opened), provider("nl", ["nl-NL"], opened, "none")]
        }),
        ({ play, turns, wait }) =>
          Effect.gen(function* () {
            yield* play(new Int16Array(12 * 8000))
            yield* wait("12 seconds")
            return turns()
          }),
        configuration({ otherwise: "Ok." }, { languages: ["nl-NL"] }).json
      )
      expect(opened).toEqual(["en en-US", "nl nl-NL"])
      // The second session says no end of a turn: silence ends it.
      const heard = "user: Spreekt u ook Nederlands?"
      expect(result).toEqual(["assistant: Hello.", heard, "assistant: Ok.", heard, "assistant: Ok."])
      expect([state.config?.language, state.session_endpointing]).toEqual(["nl-NL", "none"])
    })
  )
})
