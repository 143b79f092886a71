import * as Plugin from "@svc/providers/Plugin"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { vendorServer, vendorSettings } from "@svc/providers/VendorServer"
import { Effect, Layer, Schema } from "effect"
import { make as makeSpeech } from "./CartesiaSpeech.ts"
import { make as makeVoices } from "./CartesiaVoices.ts"

const vendorUrl = "https://api.cartesia.ai"
/** The vendor's stable model, in all languages of the platform. */
const vendorModel = "sonic-3.5"

/**
 * Text-to-speech of Cartesia over one WebSocket for each call, with the times of words.
 *
 * Settings: `SVC_CARTESIA_API_KEY`, `SVC_CARTESIA_URL`, `SVC_CARTESIA_MODEL`.
 */
export default Plugin.make({
  name: "cartesia",
  apiVersion: "^2.0.0",
  config: Schema.Struct(vendorSettings("https://api.cartesia.ai")),
  provides: ({ apiKey, model = vendorModel, url = vendorUrl }, host) => ({
    textToSpeech: Layer.scoped(
      TextToSpeech,
      Effect.gen(function* () {
        const server = vendorServer({ url, apiKey, keySetting: "SVC_CARTESIA_API_KEY", log: host.log })
        return yield* makeSpeech({ server, model, voices: yield* makeVoices(server, model, host), host })
      })
    )
  })
})
