import { describe, expect, it } from "@effect/vitest"
import { pluginConfig } from "@svc/plugin-host/loader/PluginConfig"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { ConfigProvider, Effect, Either } from "effect"
import plugin from "../src/Deepgram.ts"
import { emulatedDeepgram } from "../src/testing/EmulatedDeepgram.ts"
import { apiKey, listen, provided, setUp, setUpAt } from "./Provided.ts"

const problemOf = (variables: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.flip(
      Effect.withConfigProvider(pluginConfig(plugin, {}), ConfigProvider.fromMap(new Map(Object.entries(variables))))
    ),
    ({ reason }) => reason
  )

describe("the settings", () => {
  it.effect("need a key, and are named when they are wrong", () =>
    Effect.gen(function* () {
      expect(yield* problemOf({})).toContain("SVC_DEEPGRAM_API_KEY")
      for (const url of ["api.deepgram.com", "https://api.deepgram.com/v1", "ftp://127.0.0.1"]) {
        expect(yield* problemOf({ SVC_DEEPGRAM_API_KEY: "k", SVC_DEEPGRAM_URL: url })).toBe(
          "SVC_DEEPGRAM_URL must be an http or https address without a path, as https://api.eu.deepgram.com"
        )
      }
      const wrong = yield* problemOf({ SVC_DEEPGRAM_API_KEY: "k", SVC_DEEPGRAM_MULTILINGUAL: "perhaps" })
      expect(wrong).toContain("SVC_DEEPGRAM_MULTILINGUAL")
    })
  )

  it.effect("provide speech-to-text and text-to-speech", () =>
    Effect.gen(function* () {
      const double = yield* makeHostDouble()
      expect(Object.keys(yield* provided({ apiKey: "k" }, double)).sort()).toEqual(["speechToText", "textToSpeech"])
    })
  )
})

describe("the server's state", () => {
  it.live("a wrong key does not stop the start: it is unhealthy, and the log names the setting, never the key", () =>
    Effect.gen(function* () {
      const other = yield* setUp({ key: "another" })
      const { double, server, speechToText, textToSpeech } = other
      const reason = `SVC_DEEPGRAM_API_KEY was refused: ${server.origin} answered 401`
      expect(yield* speechToText.health).toEqual({ healthy: false, reason })
      expect(yield* textToSpeech.health).toEqual({ healthy: false, reason })
      expect(double.logged).toEqual([
        { level: "error", message: `${reason}. Set a valid key and restart the server`, fields: {} }
      ])
      const refused = yield* Effect.either(listen(other))
      expect(Either.getLeft(refused)).toMatchObject({ value: { _tag: "SpeechToTextError", reason, retryable: true } })
      expect(JSON.stringify([double.logged, refused])).not.toContain(apiKey)
    }).pipe(Effect.scoped)
  )

  it.live("a server that is not there, or that has no list of voices, does not stop the start", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(Effect.map(emulatedServer({}), ({ origin }) => origin))
      const absent = yield* setUpAt(emulatedDeepgram({ key: apiKey }), { url: gone })
      expect(yield* absent.speechToText.health).toMatchObject({ healthy: false })
      const bare = yield* setUpAt({ request: (_, response) => void response.writeHead(404).end() })
      expect(yield* bare.textToSpeech.health).toEqual({ healthy: true })
      expect(bare.textToSpeech.voices.map(({ name }) => name)).toContain("Thalia")
    }).pipe(Effect.scoped)
  )

  it.live("says the key in no error and no log, whatever the server repeats", () =>
    Effect.gen(function* () {
      const repeated = { status: 400, body: JSON.stringify({ err_msg: `no such model for ${apiKey}` }) }
      const refusing = yield* setUp({ refuse: () => repeated })
      const refused = yield* Effect.flip(listen(refusing))
      expect(refused).toMatchObject({ reason: expect.stringContaining("no such model for …"), retryable: false })
      const closing = yield* setUp({ fault: (_, peer) => Effect.sync(() => peer.close(1008, `bad ${apiKey}`)) })
      const { events } = yield* listen(closing)
      yield* Effect.repeat(Effect.sleep(1), { until: () => events.length > 0 })
      const shown = JSON.stringify([refused, events, refusing.double.logged, closing.double.logged])
      expect(shown).toContain("bad …")
      expect(shown).not.toContain(apiKey)
    }).pipe(Effect.scoped)
  )
})
