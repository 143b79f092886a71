import { Context, Data, type Effect, type Scope } from "effect"
import type { Health } from "./Health.ts"

/** An event of a session, emitted synchronously and in order. */
export type SpeechEvent =
  | { readonly _tag: "SpeechStarted" }
  /** The words of the current utterance so far; replaces the previous partial. */
  | { readonly _tag: "Partial"; readonly text: string }
  /** Words that will not change; `confidence` 0..1. */
  | { readonly _tag: "Final"; readonly text: string; readonly confidence: number }
  /** The caller has finished a turn; only from providers with `endpointing: "provider"`. */
  | { readonly _tag: "EndOfTurn" }
  /** The session has failed; no event follows. */
  | { readonly _tag: "Failed"; readonly error: SpeechToTextError }

export class SpeechToTextError extends Data.TaggedError("SpeechToTextError")<{
  readonly reason: string
  /** Whether another attempt may work. */
  readonly retryable: boolean
}> {}

export interface SpeechToTextOptions {
  readonly callId: string
  /** BCP-47. */
  readonly language: string
  /** Sample rate in Hz of the PCM16 frames. */
  readonly sampleRate: number
  /** How numbers, dates and punctuation are written. See docs/reference/agent-server.md, `stt_format`. */
  readonly format: "smart" | "numerals" | "raw"
  readonly keyterms: ReadonlyArray<string>
  readonly onEvent: (event: SpeechEvent) => void
}

export interface SpeechToTextSession {
  /** One 20 ms frame of PCM16, valid only during the call. Synchronous; must not throw. */
  readonly push: (frame: Int16Array) => void
  /** Ends the audio. Emits the rest of the transcript before it completes. */
  readonly finish: Effect.Effect<void>
}

/** A speech-to-text provider. */
export class SpeechToText extends Context.Tag("@svc/providers/SpeechToText")<
  SpeechToText,
  {
    readonly id: string
    readonly capabilities: {
      readonly languages: ReadonlyArray<string>
      /** Whether the provider emits `EndOfTurn`, or the engine detects the end of a turn. */
      readonly endpointing: "provider" | "none"
      readonly sampleRates: ReadonlyArray<number>
      readonly keyterms: boolean
    }
    readonly health: Effect.Effect<Health>
    /** Opens a session. Closing the scope ends it at once, and no event follows. */
    readonly open: (options: SpeechToTextOptions) => Effect.Effect<SpeechToTextSession, SpeechToTextError, Scope.Scope>
  }
>() {}
