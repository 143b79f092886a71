import { Context, Data, type Effect } from "effect"
import type { Health } from "./Health.ts"

export class TextToSpeechError extends Data.TaggedError("TextToSpeechError")<{
  readonly reason: string
  readonly retryable: boolean
}> {}

/** A voice; `languages` is `"*"` when it speaks every supported one. */
export interface Voice {
  readonly name: string
  readonly languages: "*" | ReadonlyArray<string>
  readonly gender: "female" | "male" | "neutral"
}

/** Where synthesized audio goes. */
export interface AudioSink {
  /** Takes PCM16 samples. `false`: taken, but full; wait for `drained` before writing more. */
  readonly write: (samples: Int16Array) => boolean
  /** Tells that the audio written so far speaks the first `characters` (UTF-16 units) of the text. Optional to call; makes cuts exact. */
  readonly align: (characters: number) => void
  /** Completes when there is room again. */
  readonly drained: Effect.Effect<void>
}

export interface SynthesisRequest {
  readonly callId: string
  /** One sentence or a short passage. */
  readonly text: string
  readonly voice: string
  readonly language: string
  /** Hz of the PCM16 wanted. */
  readonly sampleRate: number
  readonly sink: AudioSink
}

/** Text to speech. */
export class TextToSpeech extends Context.Tag("@svc/providers/TextToSpeech")<
  TextToSpeech,
  {
    readonly id: string
    readonly voices: ReadonlyArray<Voice>
    readonly sampleRates: ReadonlyArray<number>
    readonly health: Effect.Effect<Health>
    /** Writes the speech to the sink, and completes when all is written. Interruption stops it within 50 ms; nothing is written afterwards. */
    readonly synthesize: (request: SynthesisRequest) => Effect.Effect<void, TextToSpeechError>
  }
>() {}
