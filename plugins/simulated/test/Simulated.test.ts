import { expect, layer } from "@effect/vitest"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import { speakText } from "@svc/providers/SpeechTurn"
import { ConfigProvider, Effect, Layer } from "effect"
import { routeRequest } from "./FakeSocket.ts"

const Loaded = PluginLoader.layer({ directory: import.meta.dirname }).pipe(
  Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))))
)

layer(Loaded)("the simulated plugin", (it) => {
  it.effect("is loaded by its package name with all capabilities that a call needs", () =>
    Effect.gen(function* () {
      const providers = yield* Providers
      expect(providers.plugins.map(({ capabilities, name }) => [name, [...capabilities].sort()])).toEqual([
        ["simulated", ["embedding", "languageModel", "speechToText", "telephony", "textToSpeech"]]
      ])
      expect(providers.telephony.map(({ id }) => id)).toEqual(["simulated"])
      expect(providers.embedding?.model).toBe("hashed-n-grams-1")
    })
  )

  it.scoped("GET calls/<call_id> returns the speech requests of a call", () =>
    Effect.gen(function* () {
      const { speechToText, telephony, textToSpeech } = yield* Providers
      const sink = { write: () => true, align: () => {}, drained: Effect.void }
      for (const stt of speechToText) {
        yield* stt.open({
          callId: "call_x",
          language: "nl-NL",
          sampleRate: 8000,
          format: "raw",
          keyterms: ["Svc"],
          onEvent: () => {}
        })
      }
      for (const tts of textToSpeech) {
        yield* speakText(tts, {
          callId: "call_x",
          turn: "turn_x",
          speed: 1,
          text: "Hallo",
          voice: "Lotte",
          language: "nl-NL",
          sampleRate: 8000,
          sink
        })
      }
      const routes = telephony.flatMap((network) => network.routes)
      const answers = yield* Effect.forEach(routes, (route) =>
        route._tag === "Http" && route.path.startsWith("/calls")
          ? Effect.map(
              route.handle({ ...routeRequest, path: "/calls/call_x", params: { call_id: "call_x" } }),
              ({ body }) => String(body)
            )
          : Effect.succeed("")
      )
      expect(JSON.parse(answers.join(""))).toEqual({
        stt: { language: "nl-NL", format: "raw", keyterms: ["Svc"] },
        tts: { language: "nl-NL", voice: "Lotte" }
      })
    })
  )
})
