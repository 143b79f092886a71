import { expect, it } from "@effect/vitest"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import { SpeechToTextError } from "@svc/providers/SpeechToText"
import { ConfigProvider, Effect, Layer } from "effect"
import { loopbackCall } from "../../src/live/LoopbackCall.ts"
import { Ticker } from "../../src/media/Ticker.ts"

const simulated = PluginLoader.layer().pipe(
  Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))))
)

it.live("loopbackCall transcribes its own speech through the whole media path", () =>
  Effect.gen(function* () {
    const { heard, said } = yield* loopbackCall
    expect(heard).toBe(said)
  }).pipe(Effect.provide(Layer.merge(simulated, Ticker.layer)))
)

it.live("loopbackCall fails with the reason when speech-to-text does not start", () =>
  Effect.gen(function* () {
    const providers = yield* Providers
    const deaf = providers.speechToText.map((stt) => ({
      ...stt,
      open: () => new SpeechToTextError({ reason: "wrong key", retryable: false })
    }))
    const failure = yield* Effect.flip(
      Effect.provideService(loopbackCall, Providers, { ...providers, speechToText: deaf })
    )
    expect(failure.reason).toBe("speech-to-text failed: wrong key")
  }).pipe(Effect.provide(Layer.merge(simulated, Ticker.layer)))
)
