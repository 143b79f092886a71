import { expect, it } from "@effect/vitest"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { ConfigProvider, Effect, Layer } from "effect"
import { Ticker } from "../../src/media/Ticker.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import { memory } from "../doubles/VirtualPhone.ts"

const silentServer = { callStarted: () => Effect.never, toolCall: () => Effect.never }

it.scopedLive(
  "resolveVoice resolves female and male to a voice that speaks the language, the call's own voice first",
  () =>
    Effect.gen(function* () {
      const { resolveVoice } = yield* phoneServices(() => {})
      expect(resolveVoice("Daan", "nl-NL", "Sarah")).toBe("Daan")
      expect(resolveVoice("female", "nl-NL", "Lotte")).toBe("Lotte")
      expect(resolveVoice("female", "nl-NL", "Daan")).toBe("Sarah")
      expect(resolveVoice("male", "nl-NL", "Sarah")).toBe("Daan")
      expect(resolveVoice("male", "en-GB", "Tom")).toBe("Oliver")
      // No man speaks it.
      expect(resolveVoice("male", "fr-FR", "Sarah")).toBe("Sarah")
      expect(resolveVoice("male", "fr-FR", "Camille")).toBe("Camille")
    }).pipe(
      Effect.provide(Layer.mergeAll(memory({ rows: [], events: [], transcript: [] }, silentServer), Ticker.layer)),
      Effect.provide(PluginLoader.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
    )
)
