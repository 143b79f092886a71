import { randomUUID } from "node:crypto"
import { languageCode, platformLanguages } from "@svc/providers/PlatformLanguages"
import { RequestFailed } from "@svc/providers/RequestFailed"
import { bySegments, type SpeechSegment, type Transcript } from "@svc/providers/SpeechSegments"
import { SpeechToText, SpeechToTextError } from "@svc/providers/SpeechToText"
import { type Context, Duration, Effect, Option, Schema } from "effect"
import { promptOf } from "./Hints.ts"
import type { ModelList } from "./ModelList.ts"
import type { OpenAiClient } from "./OpenAiClient.ts"

/** In Hz: what Whisper works with, and some servers take nothing else. */
const sampleRate = 16_000
const retryWithin = Duration.seconds(3)

/** Of `json` and of `verbose_json`; only the latter has segments. */
const Answer = Schema.Struct({
  text: Schema.String,
  segments: Schema.optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({ avg_logprob: Schema.optional(Schema.Number), no_speech_prob: Schema.optional(Schema.Number) })
      )
    )
  )
})
const decodeAnswer = Schema.decodeUnknownOption(Answer)

/** A WAV file of PCM16 mono. */
const wavOf = (samples: Int16Array): Buffer => {
  const file = Buffer.alloc(44 + 2 * samples.length)
  file.write("RIFF", 0, "latin1")
  file.writeUInt32LE(file.length - 8, 4)
  file.write("WAVEfmt ", 8, "latin1")
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(sampleRate, 24)
  file.writeUInt32LE(2 * sampleRate, 28)
  file.writeUInt16LE(2, 32)
  file.writeUInt16LE(16, 34)
  file.write("data", 36, "latin1")
  file.writeUInt32LE(2 * samples.length, 40)
  for (let i = 0; i < samples.length; i++) file.writeInt16LE(samples[i] ?? 0, 44 + 2 * i)
  return file
}

/** A form with a file and texts, as `multipart/form-data` (RFC 7578). */
const formOf = (file: Buffer, texts: Readonly<Record<string, string>>) => {
  const boundary = `svc-${randomUUID()}`
  const part = (name: string, more = "") => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`
  const fields = Object.entries(texts).map(([name, text]) => `${part(name)}\r\n${text}\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([
      Buffer.from(`${fields.join("")}${part("file", '; filename="speech.wav"')}content-type: audio/wav\r\n\r\n`),
      file,
      Buffer.from(`\r\n--${boundary}--\r\n`)
    ])
  }
}

/** The confidence of an answer, and no text where the model itself heard no speech, by Whisper's own limits. */
const transcriptOf = ({ segments, text }: typeof Answer.Type): Transcript => {
  const known = (segments ?? []).flatMap(({ avg_logprob, no_speech_prob = 0 }) =>
    avg_logprob === undefined ? [] : [{ avg_logprob, no_speech_prob }]
  )
  if (known.length === 0) return { text: text.trim(), confidence: 1 }
  const silent = known.every(({ avg_logprob, no_speech_prob }) => no_speech_prob > 0.6 && avg_logprob < -1)
  const mean = known.reduce((sum, { avg_logprob }) => sum + avg_logprob, 0) / known.length
  return { text: silent ? "" : text.trim(), confidence: Math.min(1, Math.exp(mean)) }
}

/** Speech-to-text by `/audio/transcriptions`: each finished stretch of speech is uploaded. */
export const make = (options: {
  readonly client: OpenAiClient
  readonly list: ModelList
  readonly model: string
}): Effect.Effect<Context.Tag.Service<SpeechToText>> =>
  Effect.sync(() => {
    const { client, list, model } = options
    // Of OpenAI's models only Whisper gives more than the text.
    let isVerbose = !model.includes("transcribe")

    const ask = (segment: SpeechSegment): Effect.Effect<unknown, RequestFailed> =>
      Effect.suspend(() => {
        const { keyterms, language } = segment.options
        const wasVerbose = isVerbose
        const prompt = promptOf(keyterms)
        const form = formOf(wavOf(segment.samples), {
          model,
          language: languageCode(language),
          response_format: wasVerbose ? "verbose_json" : "json",
          ...(prompt === "" ? {} : { prompt })
        })
        return client.json({ method: "POST", path: "/audio/transcriptions", retryWithin, ...form }).pipe(
          Effect.catchIf(
            ({ reason, status }) =>
              wasVerbose && (status === 400 || status === 422) && /response_format|verbose_json/.test(reason),
            () => {
              isVerbose = false
              return ask(segment)
            }
          )
        )
      })

    const transcribe = (segment: SpeechSegment): Effect.Effect<Transcript, SpeechToTextError> =>
      ask(segment).pipe(
        Effect.flatMap((body) => {
          const answer = decodeAnswer(body)
          return Option.isSome(answer)
            ? Effect.succeed(transcriptOf(answer.value))
            : new RequestFailed({ reason: "the answer is no transcription", retryable: true })
        }),
        Effect.mapError(({ reason, retryable }) => new SpeechToTextError({ reason, retryable }))
      )

    return SpeechToText.of({
      id: "openai",
      capabilities: { languages: platformLanguages, endpointing: "none", sampleRates: [sampleRate], keyterms: true },
      health: list.health,
      open: bySegments(transcribe)
    })
  })
