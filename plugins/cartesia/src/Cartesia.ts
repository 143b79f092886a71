import * as Plugin from "@svc/providers/Plugin"
import { makeFailures } from "@svc/providers/RequestFailed"
import { serverOrigin } from "@svc/providers/ServerOrigin"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { Effect, Layer, Schema } from "effect"
import { make as makeSpeech } from "./CartesiaSpeech.ts"
import { make as makeVoices } from "./CartesiaVoices.ts"

const vendorUrl = "https://api.cartesia.ai"
/** The vendor's stable model, in all languages of the platform. */
const vendorModel = "sonic-3.5"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Settings = Schema.Struct({
  apiKey: Schema.Redacted(Schema.NonEmptyString),
  url: optional(serverOrigin("https://api.cartesia.ai")),
  model: optional(Schema.NonEmptyString)
})

/**
 * Text-to-speech of Cartesia over one WebSocket for each call, with the times of words.
 *
 * Settings: `SVC_CARTESIA_API_KEY`, `SVC_CARTESIA_URL`, `SVC_CARTESIA_MODEL`.
 */
export default Plugin.make({
  name: "cartesia",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ apiKey, model = vendorModel, url = vendorUrl }, host) => ({
    textToSpeech: Layer.scoped(
      TextToSpeech,
      Effect.gen(function* () {
        const { origin } = new URL(url)
        const keySetting = "SVC_CARTESIA_API_KEY"
        const failures = makeFailures({ server: origin, key: apiKey, keySetting, log: host.log })
        const server = { origin, apiKey, failures }
        return yield* makeSpeech({ server, model, voices: yield* makeVoices(server, model, host), host })
      })
    )
  })
})
