import * as Plugin from "@svc/providers/Plugin"
import { makeFailures } from "@svc/providers/RequestFailed"
import { serverOrigin } from "@svc/providers/ServerOrigin"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { Effect, Layer, Schema } from "effect"
import { make as makeSpeech } from "./ElevenLabsSpeech.ts"
import { make as makeVoices } from "./ElevenLabsVoices.ts"

const vendorUrl = "https://api.elevenlabs.io"
/** The vendor's model for conversations, quick and in all languages of the platform. */
const vendorModel = "eleven_flash_v2_5"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Settings = Schema.Struct({
  apiKey: Schema.Redacted(Schema.NonEmptyString),
  url: optional(serverOrigin("https://api.eu.residency.elevenlabs.io")),
  model: optional(Schema.NonEmptyString)
})

/**
 * Text-to-speech of ElevenLabs over one multi-context WebSocket for each call and voice, with the position of each
 * character.
 *
 * Settings: `SVC_ELEVENLABS_API_KEY`, `SVC_ELEVENLABS_URL`, `SVC_ELEVENLABS_MODEL`.
 */
export default Plugin.make({
  name: "elevenlabs",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ apiKey, model = vendorModel, url = vendorUrl }, host) => ({
    textToSpeech: Layer.scoped(
      TextToSpeech,
      Effect.gen(function* () {
        const { origin } = new URL(url)
        const keySetting = "SVC_ELEVENLABS_API_KEY"
        const failures = makeFailures({ server: origin, key: apiKey, keySetting, log: host.log })
        const server = { origin, apiKey, failures }
        return yield* makeSpeech({ server, model, voices: yield* makeVoices(server, model, host), host })
      })
    )
  })
})
