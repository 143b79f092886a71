import { Pcm16Reader } from "@svc/providers/Pcm16Reader"
import { platformLanguages } from "@svc/providers/PlatformLanguages"
import { RequestFailed } from "@svc/providers/RequestFailed"
import { byText, type TextRequest, textParts } from "@svc/providers/SpeechTurn"
import { TextToSpeech, TextToSpeechError, type Voice } from "@svc/providers/TextToSpeech"
import { type Context, Duration, Effect } from "effect"
import type { ModelList } from "./ModelList.ts"
import type { OpenAiClient } from "./OpenAiClient.ts"

/** In Hz, of the format `pcm`. */
const sampleRate = 24_000
const retryWithin = Duration.seconds(3)
/** Characters of a request; OpenAI takes 4,096. */
const longestText = 4000

/** The vendor's voices, which speak all languages, and their genders as they sound. */
const genders = {
  alloy: "neutral",
  ash: "male",
  ballad: "male",
  cedar: "male",
  coral: "female",
  echo: "male",
  fable: "male",
  marin: "female",
  nova: "female",
  onyx: "male",
  sage: "female",
  shimmer: "female",
  verse: "male"
} as const
/** The vendor's voice of agents that choose none. */
const sarah = "coral"
/** Voices that older models do not have. */
const newer: ReadonlyArray<string> = ["ballad", "cedar", "marin", "verse"]

const failed = (reason: string, retryable: boolean) => new RequestFailed({ reason, retryable })

/** Text-to-speech by `/audio/speech`, whose audio is streamed. */
export const make = (options: {
  readonly client: OpenAiClient
  readonly list: ModelList
  readonly model: string
}): Effect.Effect<Context.Tag.Service<TextToSpeech>> =>
  Effect.sync(() => {
    const { client, list, model } = options
    const names = Object.keys(genders).filter((name) => !model.startsWith("tts-1") || !newer.includes(name))
    const genderOf = new Map<string, Voice["gender"]>(Object.entries(genders))
    const voices: ReadonlyArray<Voice> = [
      { name: "Sarah", languages: "*", gender: "female" },
      ...names.map((name): Voice => ({ name, languages: "*", gender: genderOf.get(name) ?? "neutral" }))
    ]

    /** Speaks a part of a text. Returns how many samples were written. */
    const speakPart = Effect.fnUntraced(function* (voice: string, text: string, { sink, speed }: TextRequest) {
      const body = JSON.stringify({
        model,
        voice,
        input: text.toWellFormed(),
        response_format: "pcm",
        ...(speed === 1 ? {} : { speed })
      })
      const { contentType, next } = yield* client.send({
        method: "POST",
        path: "/audio/speech",
        contentType: "application/json",
        body,
        retryWithin
      })
      if (/json|text|html/.test(contentType)) return yield* failed(`the answer is ${contentType} and no audio`, true)
      const reader = new Pcm16Reader()
      let written = 0
      for (let bytes = yield* next; bytes !== null; bytes = yield* next) {
        const samples = reader.read(bytes)
        if (
          written === 0 &&
          Buffer.from(samples.buffer, 0, Math.min(4, samples.byteLength)).toString("latin1") === "RIFF"
        ) {
          return yield* failed("the answer is a WAV file although the format pcm was asked for", false)
        }
        if (samples.length === 0) continue
        written += samples.length
        if (!sink.write(samples)) yield* sink.drained
      }
      if (!reader.isWhole) return yield* failed("the audio ended in the middle of a sample", true)
      return written
    }, Effect.scoped)

    const speak = Effect.fnUntraced(
      function* (voice: string, request: TextRequest) {
        if (request.text.trim() === "") return
        let characters = 0
        let samples = 0
        for (const part of textParts(request.text, longestText)) {
          samples += yield* speakPart(voice, part, request)
          characters += part.length
          request.sink.align(characters, samples)
        }
      },
      Effect.mapError(
        ({ reason, retryable }) => new TextToSpeechError({ reason: client.failures.shown(reason), retryable })
      )
    )

    const refuse = (reason: string) => new TextToSpeechError({ reason, retryable: false })
    return TextToSpeech.of({
      id: "openai",
      voices,
      sampleRates: [sampleRate],
      health: list.health,
      open: (request) => {
        const asked = request.voice.toLowerCase()
        const voice = asked === "sarah" ? sarah : asked
        if (!names.includes(voice)) return refuse(`there is no voice "${request.voice}"`)
        if (!platformLanguages.includes(request.language))
          return refuse(`the language "${request.language}" is not supported`)
        if (request.sampleRate !== sampleRate) return refuse(`${request.sampleRate} Hz is not supported`)
        return byText((piece) => speak(voice, piece))(request)
      }
    })
  })
