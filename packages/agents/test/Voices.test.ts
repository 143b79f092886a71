import { describe, expect, it } from "@effect/vitest"
import { Providers } from "@svc/providers/Providers"
import type { Voice } from "@svc/providers/TextToSpeech"
import { Effect, Layer } from "effect"
import { Voices } from "../src/Voices.ts"

const plugin = (id: string, voices: ReadonlyArray<Voice>) => ({
  id,
  voices,
  sampleRates: [8000],
  health: Effect.die("not asked"),
  synthesize: () => Effect.void
})

const voicesOf = (...plugins: ReadonlyArray<ReturnType<typeof plugin>>) =>
  Layer.provide(
    Voices.layer,
    Layer.succeed(Providers, {
      plugins: [],
      telephony: [],
      speechToText: [],
      textToSpeech: plugins,
      languageModel: [],
      voiceActivity: undefined
    })
  )

const two = voicesOf(
  plugin("first", [
    { name: "Sarah", languages: ["en-US"], gender: "neutral" },
    { name: "Jan", languages: ["nl-NL"], gender: "male" }
  ]),
  plugin("second", [
    { name: "Jan", languages: ["de-DE"], gender: "female" },
    { name: "Any", languages: "*", gender: "female" }
  ])
)

describe("Voices", () => {
  it.effect.each([
    ["Sarah", "en-US", true],
    ["Sarah", "fi-FI", true],
    ["Jan", "nl-NL", true],
    ["Jan", "de-DE", true],
    ["Jan", "en-US", false],
    ["Any", "pl-PL", true],
    ["jan", "nl-NL", false],
    ["", "en-US", false],
    ["__proto__", "en-US", false],
    ["Nobody", "en-US", false]
  ] as const)("%s in %s: %s", ([voice, language, valid]) =>
    Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.isValid(voice, language)).toBe(valid)
    }).pipe(Effect.provide(two))
  )
  it.effect("lists each name once, with the languages of all plugins that have it", () =>
    Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.list()).toEqual([
        { name: "Sarah", languages: "*", gender: "neutral" },
        { name: "Jan", languages: ["nl-NL", "de-DE"], gender: "male" },
        { name: "Any", languages: "*", gender: "female" }
      ])
      expect(voices.list("en-US").map((voice) => voice.name)).toEqual(["Sarah", "Any"])
    }).pipe(Effect.provide(two))
  )
  it.effect("Sarah is there whatever is loaded", () =>
    Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.list().map((voice) => voice.name)).toEqual(["Sarah"])
    }).pipe(Effect.provide(voicesOf()))
  )
})
