import { leaksOfSpeech } from "@svc/providers/testing/StreamedSpeechSuite"
import { speaks } from "../src/testing/EmulatedElevenLabs.ts"
import { speechOf } from "./Provided.ts"

leaksOfSpeech(speechOf(speaks()))
