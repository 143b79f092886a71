import { expect, it } from "@effect/vitest"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { ConfigProvider, Effect, Layer } from "effect"
import { Ticker } from "../../src/media/Ticker.ts"
import { sessionServices } from "../../src/session/SessionServices.ts"
import { memory } from "./VirtualPhone.ts"

const nobody = { callStarted: () => Effect.never, toolCall: () => Effect.never }

it.scopedLive("a voice by gender is one that speaks the language, the call's own before others", () =>
  Effect.gen(function* () {
    const { voiceNamed } = yield* sessionServices(() => {})
    expect(voiceNamed("Daan", "nl-NL", "Sarah")).toBe("Daan")
    expect(voiceNamed("female", "nl-NL", "Lotte")).toBe("Lotte")
    expect(voiceNamed("female", "nl-NL", "Daan")).toBe("Sarah")
    expect(voiceNamed("male", "nl-NL", "Sarah")).toBe("Daan")
    expect(voiceNamed("male", "en-GB", "Tom")).toBe("Oliver")
    // No man speaks it.
    expect(voiceNamed("male", "fr-FR", "Sarah")).toBe("Sarah")
    expect(voiceNamed("male", "fr-FR", "Camille")).toBe("Camille")
  }).pipe(
    Effect.provide(Layer.mergeAll(memory({ rows: [], events: [], told: [] }, nobody), Ticker.layer)),
    Effect.provide(PluginLoader.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
  )
)
