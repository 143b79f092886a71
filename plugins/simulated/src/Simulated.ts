import * as Plugin from "@svc/providers/Plugin"
import { Layer, Schema } from "effect"
import { CallRequests } from "./CallRequests.ts"
import { NetworkClock } from "./Network/NetworkClock.ts"
import { ScriptedModel } from "./ScriptedModel.ts"
import { SimulatedSpeechToText } from "./SimulatedSpeechToText.ts"
import { SimulatedTelephony } from "./SimulatedTelephony.ts"
import { SimulatedTextToSpeech } from "./SimulatedTextToSpeech.ts"

/**
 * A complete set of providers for development and tests: a telephone network with phones over WebSocket, speech as
 * tones, and a language model that follows a script. Deterministic, without a vendor or a network. It has no settings.
 */
export default Plugin.make({
  name: "simulated",
  apiVersion: "^1.0.0",
  config: Schema.Struct({}),
  provides: () => ({
    telephony: Layer.provide(SimulatedTelephony, [CallRequests.layer, NetworkClock.layer]),
    speechToText: Layer.provide(SimulatedSpeechToText, CallRequests.layer),
    textToSpeech: Layer.provide(SimulatedTextToSpeech, CallRequests.layer),
    languageModel: ScriptedModel
  })
})
