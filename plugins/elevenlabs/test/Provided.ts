import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import type { EmulatedServer } from "@svc/providers/testing/EmulatedServer"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { type SpeechSetup, speechSetup, textToSpeechOf } from "@svc/providers/testing/SpeechSetup"
import { Effect, Layer, type Scope } from "effect"
import plugin from "../src/ElevenLabs.ts"
import { apiKey, vendorServer } from "../src/testing/EmulatedElevenLabs.ts"

/** The plugin with a server of its own. */
export const speechOf = (...behaviour: Parameters<typeof vendorServer>): Layer.Layer<TextToSpeech> =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const { origin } = yield* vendorServer(...behaviour)
      return textToSpeechOf(plugin, { apiKey, url: origin }, yield* makeHostDouble())
    })
  )

/** The plugin at a server. */
export const setUpAt = (
  server: EmulatedServer,
  settings: Readonly<Record<string, string>> = {}
): Effect.Effect<SpeechSetup, never, Scope.Scope> =>
  speechSetup(plugin, { apiKey, url: server.origin, ...settings }, server)

/** The plugin and a server of its own. */
export const setUp = (...behaviour: Parameters<typeof vendorServer>): Effect.Effect<SpeechSetup, never, Scope.Scope> =>
  Effect.flatMap(vendorServer(...behaviour), (server) => setUpAt(server))
