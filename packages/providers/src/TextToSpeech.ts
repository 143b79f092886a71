import { Context, Data, type Effect } from "effect"
import type { Health } from "./Health.ts"

export class TextToSpeechError extends Data.TaggedError("TextToSpeechError")<{
  readonly reason: string
  readonly retryable: boolean
}> {}

/** A voice. `languages` is `"*"` when it speaks every supported language. */
export interface Voice {
  readonly name: string
  readonly languages: "*" | ReadonlyArray<string>
  readonly gender: "female" | "male" | "neutral"
}

/** Receives synthesized audio. */
export interface AudioSink {
  /** Accepts PCM16 samples. `false`: accepted, but the sink is now full; await `drained` before the next write. */
  readonly write: (samples: Int16Array) => boolean
  /**
   * Reports that the audio written so far speaks the first `characters` (UTF-16 units) of the text. Optional; makes
   * cuts exact.
   */
  readonly align: (characters: number) => void
  /** Completes when the sink has room again. */
  readonly drained: Effect.Effect<void>
}

export interface SynthesisRequest {
  readonly callId: string
  /** One sentence or a short passage. */
  readonly text: string
  readonly voice: string
  readonly language: string
  /** Sample rate in Hz of the PCM16 samples. */
  readonly sampleRate: number
  readonly sink: AudioSink
}

/** A text-to-speech provider. */
export class TextToSpeech extends Context.Tag("@svc/providers/TextToSpeech")<
  TextToSpeech,
  {
    readonly id: string
    readonly voices: ReadonlyArray<Voice>
    readonly sampleRates: ReadonlyArray<number>
    readonly health: Effect.Effect<Health>
    /**
     * Writes the speech to the sink and completes when all is written. Interruption stops it within 50 ms; no write
     * follows.
     */
    readonly synthesize: (request: SynthesisRequest) => Effect.Effect<void, TextToSpeechError>
  }
>() {}
