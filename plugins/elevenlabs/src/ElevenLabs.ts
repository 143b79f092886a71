import * as Plugin from "@svc/providers/Plugin"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { vendorServer, vendorSettings } from "@svc/providers/VendorServer"
import { Effect, Layer, Schema } from "effect"
import { make as makeSpeech } from "./ElevenLabsSpeech.ts"
import { make as makeVoices } from "./ElevenLabsVoices.ts"

const vendorUrl = "https://api.elevenlabs.io"
/** The vendor's model for conversations, quick and in all languages of the platform. */
const vendorModel = "eleven_flash_v2_5"

/**
 * Text-to-speech of ElevenLabs over one multi-context WebSocket for each call and voice, with the position of each
 * character.
 *
 * Settings: `SVC_ELEVENLABS_API_KEY`, `SVC_ELEVENLABS_URL`, `SVC_ELEVENLABS_MODEL`.
 */
export default Plugin.make({
  name: "elevenlabs",
  apiVersion: "^2.0.0",
  config: Schema.Struct(vendorSettings("https://api.eu.residency.elevenlabs.io")),
  provides: ({ apiKey, model = vendorModel, url = vendorUrl }, host) => ({
    textToSpeech: Layer.scoped(
      TextToSpeech,
      Effect.gen(function* () {
        const server = vendorServer({ url, apiKey, keySetting: "SVC_ELEVENLABS_API_KEY", log: host.log })
        return yield* makeSpeech({ server, model, voices: yield* makeVoices(server, model, host), host })
      })
    )
  })
})
