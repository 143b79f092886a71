import { isE164 } from "@svc/providers/Carrier"
import * as Plugin from "@svc/providers/Plugin"
import { Layer, Schema } from "effect"
import { CallRequests } from "./CallRequests.ts"
import { CarrierRecords } from "./Carrier/CarrierRecords.ts"
import { HashedEmbedding } from "./HashedEmbedding.ts"
import { NetworkClock } from "./Network/NetworkClock.ts"
import { CallRealism } from "./Realism/CallRealism.ts"
import { ScriptedModel } from "./ScriptedModel.ts"
import { SimulatedSpeechToText } from "./SimulatedSpeechToText.ts"
import { SimulatedTelephony } from "./SimulatedTelephony.ts"
import { SimulatedTextToSpeech } from "./SimulatedTextToSpeech.ts"

const numbersIn = (list: string): ReadonlyArray<string> =>
  list.trim() === "none" ? [] : list.split(",").map((number) => number.trim())

const Settings = Schema.Struct({
  carrierFile: Schema.optional(Schema.NonEmptyString),
  owned: Schema.optional(
    Schema.String.pipe(
      Schema.filter((list) => numbersIn(list).every(isE164), {
        message: () => "must be `none` or a comma-separated list of numbers in E.164"
      })
    )
  )
})

/**
 * A complete set of providers for development and tests: a telephone network with phones over WebSocket, speech as
 * tones, a language model that follows a script, and embeddings by hashing. Deterministic, without a vendor or a network.
 *
 * Settings: `SVC_SIMULATED_CARRIER_FILE`, where the carrier keeps its records; else they end with the process.
 * `SVC_SIMULATED_OWNED`: the numbers that it rents from the start, or `none`; only with it does the carrier list its
 * rents, so that otherwise any number can be imported.
 */
export default Plugin.make({
  name: "simulated",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ carrierFile, owned }) => ({
    telephony: Layer.provide(SimulatedTelephony, [
      CallRealism.layer,
      CallRequests.layer,
      NetworkClock.layer,
      CarrierRecords.layerOf({ file: carrierFile, owned: owned === undefined ? undefined : numbersIn(owned) })
    ]),
    speechToText: Layer.provide(SimulatedSpeechToText, [CallRealism.layer, CallRequests.layer]),
    textToSpeech: Layer.provide(SimulatedTextToSpeech, [CallRealism.layer, CallRequests.layer]),
    languageModel: Layer.provide(ScriptedModel, CallRealism.layer),
    embedding: HashedEmbedding
  })
})
