import { describe, expect, it } from "@effect/vitest"
import { pluginConfig } from "@svc/plugin-host/loader/PluginConfig"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { ConfigProvider, Effect } from "effect"
import plugin from "../src/OpenAi.ts"
import { provided } from "./Provided.ts"

const problemOf = (variables: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.flip(
      Effect.withConfigProvider(pluginConfig(plugin, {}), ConfigProvider.fromMap(new Map(Object.entries(variables))))
    ),
    ({ reason }) => reason
  )

describe("the settings", () => {
  it.effect("need a key or an address, and are named when they are wrong", () =>
    Effect.gen(function* () {
      expect(yield* problemOf({})).toBe(
        "SVC_OPENAI_API_KEY must be set, or SVC_OPENAI_BASE_URL for a server without keys"
      )
      expect(yield* problemOf({ SVC_OPENAI_BASE_URL: "localhost:8080" })).toBe(
        "SVC_OPENAI_BASE_URL must be an http or https address with its path, as http://127.0.0.1:8080/v1"
      )
    })
  )

  it.effect("need a model for streaming speech-to-text, which is true or false", () =>
    Effect.gen(function* () {
      const key = { SVC_OPENAI_API_KEY: "k" }
      expect(yield* problemOf({ ...key, SVC_OPENAI_STT_STREAMING: "true" })).toBe(
        "SVC_OPENAI_STT_STREAMING needs SVC_OPENAI_STT_MODEL, such as gpt-live-transcribe"
      )
      const wrong = yield* problemOf({ ...key, SVC_OPENAI_STT_MODEL: "m", SVC_OPENAI_STT_STREAMING: "perhaps" })
      expect(wrong).toContain("SVC_OPENAI_STT_STREAMING")
      const double = yield* makeHostDouble()
      for (const sttStreaming of ["true", "false"]) {
        const given = yield* provided({ apiKey: "k", sttModel: "m", sttStreaming }, double)
        expect(Object.keys(given).sort()).toEqual(["languageModel", "speechToText"])
      }
    })
  )

  it.effect("provide the language model, and each other capability with its model", () =>
    Effect.gen(function* () {
      const double = yield* makeHostDouble()
      for (const settings of [{ apiKey: "k" }, { baseUrl: "http://127.0.0.1:9/v1" }]) {
        expect(Object.keys(yield* provided(settings, double))).toEqual(["languageModel"])
      }
      const all = { apiKey: "k", sttModel: "a", ttsModel: "b", embeddingModel: "c" }
      expect(Object.keys(yield* provided(all, double)).sort()).toEqual([
        "embedding",
        "languageModel",
        "speechToText",
        "textToSpeech"
      ])
    })
  )
})
