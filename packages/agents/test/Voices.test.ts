import { describe, expect, it } from "@effect/vitest"
import { languages } from "@svc/api/agents/Language"
import { Providers } from "@svc/providers/Providers"
import type { Voice } from "@svc/providers/TextToSpeech"
import { Effect, Layer } from "effect"
import { Voices } from "../src/Voices.ts"

const plugin = (id: string, voices: ReadonlyArray<Voice>) => ({
  id,
  voices,
  sampleRates: [8000],
  health: Effect.die("not asked"),
  open: () => Effect.die("not asked")
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
      voiceActivity: undefined,
      objectStore: undefined,
      embedding: undefined
    })
  )

const two = voicesOf(
  plugin("first", [
    { name: "Sarah", languages: ["en-US"], gender: "neutral" },
    { name: "Jan", languages: ["nl-NL"], gender: "male" },
    { name: "Ana", languages: ["pt-BR", "pt-PT", "es-ES", "pt-PT"], gender: "female" },
    { name: "Kenji", languages: ["ja-JP"], gender: "male" }
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
    ["Any", "ja-JP", false],
    ["Ana", "pt-BR", false],
    ["Kenji", "ja-JP", false],
    ["jan", "nl-NL", true],
    ["JAN", "de-DE", true],
    ["jan", "en-US", false],
    ["sarah", "fi-FI", true],
    ["", "en-US", false],
    ["__proto__", "en-US", false],
    ["Nobody", "en-US", false]
  ] as const)("%s in %s: %s", ([voice, language, valid]) =>
    Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.isValid(voice, language)).toBe(valid)
    }).pipe(Effect.provide(two))
  )
  it.effect("lists each voice once for each of the platform's languages that it speaks", () =>
    Effect.gen(function* () {
      const voices = yield* Voices
      const all = voices.list()
      const of = (wanted: string) =>
        all.filter(({ name }) => name === wanted).map(({ gender, language }) => [language, gender])
      expect(of("Sarah")).toEqual(languages.map((language) => [language, "neutral"]))
      expect(of("Jan")).toEqual([
        ["nl-NL", "male"],
        ["de-DE", "male"]
      ])
      expect(of("Ana")).toEqual([
        ["pt-PT", "female"],
        ["es-ES", "female"]
      ])
      expect(of("Kenji")).toEqual([])
      expect([...new Set(all.map(({ name }) => name))]).toEqual(["Sarah", "Jan", "Ana", "Any"])
      expect(voices.find("Jan")?.languages).toEqual(["nl-NL", "de-DE"])
      expect(voices.find("Nobody")).toBeUndefined()
    }).pipe(Effect.provide(two))
  )
  it.effect("list with a language returns the voices of that language", () =>
    Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.list("nl-NL")).toEqual([
        { name: "Sarah", language: "nl-NL", gender: "neutral" },
        { name: "Jan", language: "nl-NL", gender: "male" },
        { name: "Any", language: "nl-NL", gender: "female" }
      ])
      expect(voices.list("fi-FI").map(({ name }) => name)).toEqual(["Sarah", "Any"])
    }).pipe(Effect.provide(two))
  )
  it.effect("writes a name as the first plugin with it does, and takes over voices that a plugin gets later", () => {
    const first = { ...plugin("first", [{ name: "Nova", languages: ["en-US"], gender: "female" }]) }
    return Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.list("en-US").map(({ name }) => name)).toEqual(["Sarah", "Nova"])
      expect(voices.find("NOVA")).toEqual({ name: "Nova", languages: ["en-US", "de-DE"] })
      first.voices = [{ name: "Luna", languages: ["en-US"], gender: "female" }]
      expect(voices.list("en-US").map(({ name }) => name)).toEqual(["Sarah", "Luna"])
      expect(voices.find("NOVA")).toEqual({ name: "nova", languages: ["de-DE"] })
    }).pipe(
      Effect.provide(voicesOf(first, plugin("second", [{ name: "nova", languages: ["de-DE"], gender: "female" }])))
    )
  })
  it.effect("Sarah is listed whichever plugins are loaded", () =>
    Effect.gen(function* () {
      const voices = yield* Voices
      expect(voices.list().map(({ language, name }) => [name, language])).toEqual(
        languages.map((language) => ["Sarah", language])
      )
    }).pipe(Effect.provide(voicesOf()))
  )
})
