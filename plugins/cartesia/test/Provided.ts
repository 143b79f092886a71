import { vendorSpeech } from "@svc/providers/testing/SpeechSetup"
import plugin from "../src/Cartesia.ts"
import { apiKey, vendorServer } from "../src/testing/EmulatedCartesia.ts"

export const { setUp, setUpAt, speechOf } = vendorSpeech({ plugin, apiKey, vendorServer })
