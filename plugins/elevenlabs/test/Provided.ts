import { vendorSpeech } from "@svc/providers/testing/SpeechSetup"
import plugin from "../src/ElevenLabs.ts"
import { apiKey, vendorServer } from "../src/testing/EmulatedElevenLabs.ts"

export const { setUp, setUpAt, speechOf } = vendorSpeech({ plugin, apiKey, vendorServer })
