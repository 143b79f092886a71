import * as Plugin from "@svc/providers/Plugin"
import { SpeechToText } from "@svc/providers/SpeechToText"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { vendorSettings } from "@svc/providers/VendorServer"
import { Context, Effect, Layer, Schema } from "effect"
import * as Server from "./DeepgramServer.ts"
import * as DeepgramSpeechToText from "./DeepgramSpeechToText.ts"
import * as DeepgramTextToSpeech from "./DeepgramTextToSpeech.ts"
import * as DeepgramVoices from "./DeepgramVoices.ts"

const Settings = Schema.Struct({
  ...vendorSettings("https://api.eu.deepgram.com"),
  multilingual: Schema.optionalWith(Schema.BooleanFromString, { exact: true })
})

class Shared extends Context.Tag("@svc/plugin-deepgram/Server")<Shared, Server.DeepgramServer>() {}

/**
 * Speech-to-text and text-to-speech of Deepgram, or of a server of your own that runs it.
 *
 * Settings: `SVC_DEEPGRAM_API_KEY`, `SVC_DEEPGRAM_URL`, `SVC_DEEPGRAM_MODEL`, `SVC_DEEPGRAM_MULTILINGUAL`.
 */
export default Plugin.make({
  name: "deepgram",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ apiKey, model = "nova-3", multilingual = false, url = "https://api.deepgram.com" }, host) => {
    const shared = Layer.scoped(Shared, Server.make({ origin: new URL(url).origin, apiKey, host }))
    return {
      speechToText: Layer.effect(
        SpeechToText,
        Effect.map(Shared, (server) => DeepgramSpeechToText.make({ server, model, isMultilingual: multilingual }))
      ).pipe(Layer.provide(shared)),
      textToSpeech: Layer.scoped(
        TextToSpeech,
        Effect.flatMap(Shared, (server) =>
          Effect.map(DeepgramVoices.make(server), (voices) => DeepgramTextToSpeech.make(server, voices))
        )
      ).pipe(Layer.provide(shared))
    }
  }
})
