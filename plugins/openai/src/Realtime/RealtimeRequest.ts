import type { ChunkEncoding } from "@svc/providers/AudioChunks"
import { languageCode } from "@svc/providers/PlatformLanguages"
import { promptOf } from "../Hints.ts"
import type { Problem } from "./RealtimeEvents.ts"

/** What a server accepts in a transcription session: at first all that OpenAI accepts, without what it has refused since. */
export interface RealtimeDialect {
  /** G.711 mu-law at 8 kHz, beside PCM16 at 24 kHz. */
  readonly mulaw: boolean
  readonly keyterms: boolean
  readonly language: boolean
}

export const initialDialect: RealtimeDialect = { mulaw: true, keyterms: true, language: true }

/**
 * The dialect after a server has refused a configuration; undefined when the error names nothing that can be left out.
 * Each answer has less than the dialect before, so repeating this ends.
 */
export const withoutRefused = (dialect: RealtimeDialect, { message, param }: Problem): RealtimeDialect | undefined => {
  const names = (pattern: RegExp) => pattern.test(param ?? message ?? "")
  if (dialect.mulaw && names(/format|pcmu/)) return { ...dialect, mulaw: false }
  if (dialect.keyterms && names(/keywords|prompt/)) return { ...dialect, keyterms: false }
  if (dialect.language && names(/language/)) return { ...dialect, language: false }
  return undefined
}

/** Whether an error is about a value, such as a list that is too long: another session may have one that is accepted. */
export const isAboutValue = ({ code, param }: Problem): boolean =>
  /invalid_value|above_max|too_(long|many)/.test(code ?? "") && !/format/.test(param ?? "")

/** In Hz, of the format `audio/pcm`. */
export const pcmRate = 24_000
/** In Hz, of the format `audio/pcmu`. */
export const mulawRate = 8000

/** How the audio of a session is sent. */
export const encodingOf = (sampleRate: number, { mulaw }: RealtimeDialect): ChunkEncoding =>
  sampleRate === mulawRate && mulaw ? "mulaw" : "pcm16"

/** Models that take a list of languages, and a list of keyterms beside the prompt. */
const takesLists = (model: string) => /^gpt-(live-)?transcribe/.test(model)
/** Whether a model takes keyterms in any way. */
export const takesKeyterms = (model: string): boolean => !/^gpt-realtime-whisper|diarize/.test(model)
/** What the server refuses in a keyterm. */
const notInKeyterms = /[<>\r\n]/g

/** What the model is told about the speech to come. */
export interface TranscriptionHints {
  /** BCP-47. */
  readonly language: string
  readonly keyterms: ReadonlyArray<string>
}

const hintsOf = (model: string, { keyterms, language }: TranscriptionHints, dialect: RealtimeDialect) => {
  const terms = keyterms.map((term) => term.replace(notInKeyterms, " ").trim()).filter((term) => term !== "")
  const name = languageCode(language)
  const hasTerms = dialect.keyterms && takesKeyterms(model) && terms.length > 0
  return {
    ...(dialect.language ? (takesLists(model) ? { languages: [name] } : { language: name }) : {}),
    ...(hasTerms ? (takesLists(model) ? { keywords: terms } : { prompt: promptOf(terms) }) : {})
  }
}

/** The message that configures a session: audio is transcribed when it is committed, because the engine detects speech. */
export const sessionUpdate = (options: {
  readonly eventId: string
  readonly model: string
  readonly hints: TranscriptionHints
  readonly encoding: ChunkEncoding
  readonly dialect: RealtimeDialect
}): string =>
  JSON.stringify({
    type: "session.update",
    event_id: options.eventId,
    session: {
      type: "transcription",
      audio: {
        input: {
          format: options.encoding === "mulaw" ? { type: "audio/pcmu" } : { type: "audio/pcm", rate: pcmRate },
          transcription: { model: options.model, ...hintsOf(options.model, options.hints, options.dialect) },
          turn_detection: null
        }
      }
    }
  })

export const appendAudio = (chunk: Buffer): string =>
  `{"type":"input_audio_buffer.append","audio":"${chunk.toString("base64")}"}`

export const commitAudio = (eventId: string): string =>
  JSON.stringify({ type: "input_audio_buffer.commit", event_id: eventId })
