import type { ProviderRequest } from "@svc/conversation/CallTimeline"
import { start } from "@svc/conversation/Conversation"
import { facts } from "@svc/conversation/testing/Script"
import { healthy } from "@svc/providers/Health"
import type { LoadedPlugin } from "@svc/providers/Providers"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { pluginOf } from "../../src/record/RequestPlugin.ts"

const plugin = (name: string): LoadedPlugin => ({
  name,
  source: name,
  capabilities: ["speechToText", "textToSpeech", "languageModel"]
})
const health = Effect.succeed(healthy)
const hears = (...languages: ReadonlyArray<string>) => ({
  id: "stt",
  capabilities: { languages, endpointing: "none" as const, sampleRates: [8000], keyterms: false },
  health,
  open: () => Effect.never
})
const speaks = (name: string, ...languages: ReadonlyArray<string>) => ({
  id: "tts",
  voices: [{ name, languages, gender: "female" as const }],
  sampleRates: [8000],
  health,
  open: () => Effect.never
})
const model = (...models: ReadonlyArray<string>) => ({ id: "model", models, health, generate: () => Effect.void })

const providers = {
  plugins: [{ ...plugin("network"), capabilities: ["telephony"] as const }, plugin("one"), plugin("two")],
  telephony: [],
  speechToText: [hears("en"), hears("de-DE", "en-US")],
  textToSpeech: [speaks("Sarah", "en-US"), speaks("Ida", "de-DE", "en-US")],
  languageModel: [model("small"), model("large")],
  voiceActivity: undefined,
  embedding: undefined,
  objectStore: undefined
}

const [state] = start({ ...facts, providers: { recognizers: ["none", "none"], models: 2, voices: 2 } })

const request = (change: Partial<ProviderRequest> & Pick<ProviderRequest, "capability">): ProviderRequest => ({
  provider: 0,
  turn: null,
  started_at: 0,
  first_at: null,
  ended_at: null,
  error: null,
  tokens: null,
  characters: null,
  ...change
})

describe("the plugin of a request", () => {
  it.each([
    ["one", { capability: "speech-to-text", language: "en-US" }],
    ["two", { capability: "speech-to-text", language: "en-US", provider: 1 }],
    ["two", { capability: "speech-to-text", language: "de-DE" }],
    ["one", { capability: "language-model" }],
    ["two", { capability: "language-model", provider: 1 }],
    ["two", { capability: "language-model", model: "large" }],
    ["one", { capability: "language-model", model: "large", provider: 1 }],
    ["one", { capability: "text-to-speech", voice: "Sarah", language: "en-US" }],
    ["two", { capability: "text-to-speech", voice: "Sarah", language: "en-US", provider: 1 }],
    ["two", { capability: "text-to-speech", voice: "Ida", language: "de-DE" }]
  ] as const)("is %s for %j", (name, change) => {
    expect(pluginOf(providers, state)(request(change))).toBe(name)
  })

  it("is not known when the call had other providers than there are now", () => {
    const [before] = start(facts)
    expect(pluginOf(providers, before)(request({ capability: "language-model" }))).toBe(null)
    expect(pluginOf(providers, before)(request({ capability: "text-to-speech" }))).toBe(null)
    expect(pluginOf(providers, before)(request({ capability: "speech-to-text" }))).toBe(null)
  })
})
