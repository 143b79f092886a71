import { TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import type { Context } from "effect"
import type { DeepgramServer } from "./DeepgramServer.ts"
import type { DeepgramVoices } from "./DeepgramVoices.ts"
import { baseOf } from "./Languages.ts"
import * as SpeakTurn from "./SpeakTurn.ts"

/** Of `linear16` (docs/tts-encoding). */
const sampleRates: ReadonlyArray<number> = [8000, 16_000, 24_000, 48_000]
/** Languages whose voices have a speed, and its limits (docs/tts-voice-controls). */
const withSpeed: ReadonlyArray<string> = ["en", "es"]
const slowest = 0.7
const fastest = 1.5

/** Text-to-speech with the voices of Aura-2. */
export const make = (server: DeepgramServer, voices: DeepgramVoices): Context.Tag.Service<TextToSpeech> => {
  const refuse = (reason: string) => new TextToSpeechError({ reason, retryable: false })
  return TextToSpeech.of({
    id: "deepgram",
    get voices() {
      return voices.list()
    },
    sampleRates,
    cacheKey: ({ language, voice }) => voices.modelFor(voice, language),
    health: server.health,
    open: (request) => {
      const { language, sampleRate, speed, voice } = request
      const model = voices.modelFor(voice, language)
      if (model === undefined) return refuse(`there is no voice "${voice}" that speaks ${language}`)
      if (!sampleRates.includes(sampleRate)) return refuse(`${sampleRate} Hz is not supported`)
      const query = new URLSearchParams({ model, encoding: "linear16", sample_rate: String(sampleRate) })
      if (speed !== 1 && withSpeed.includes(baseOf(language))) {
        query.set("speed", String(Math.min(fastest, Math.max(slowest, speed))))
      }
      return SpeakTurn.open(server, query, request)
    }
  })
}
