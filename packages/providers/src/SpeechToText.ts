import { Context, Data, type Effect, type Scope } from "effect"
import type { Health } from "./Health.ts"

/** What a recognizer tells, synchronously and in order. */
export type SpeechEvent =
  | { readonly _tag: "SpeechStarted" }
  /** The words so far of the current utterance; replaces the former partial. */
  | { readonly _tag: "Partial"; readonly text: string }
  /** Words that will not change any more; `confidence` 0..1. */
  | { readonly _tag: "Final"; readonly text: string; readonly confidence: number }
  /** The caller has finished a turn; only from providers with `endpointing: "provider"`. */
  | { readonly _tag: "EndOfTurn" }
  /** The session is broken; nothing follows. */
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
  /** Hz of the PCM16 frames that will be pushed. */
  readonly sampleRate: number
  /** `smart` (default), `numerals` or `raw` (spec 6.6). */
  readonly format: "smart" | "numerals" | "raw"
  readonly keyterms: ReadonlyArray<string>
  readonly onEvent: (event: SpeechEvent) => void
}

export interface SpeechToTextSession {
  /** One 20 ms frame of PCM16; valid only during the call. Synchronous, never throws. */
  readonly push: (frame: Int16Array) => void
  /** No more audio: gives the last words (as events) before it completes. */
  readonly finish: Effect.Effect<void>
}

/** Speech to text. */
export class SpeechToText extends Context.Tag("@svc/providers/SpeechToText")<
  SpeechToText,
  {
    readonly id: string
    readonly capabilities: {
      readonly languages: ReadonlyArray<string>
      /** Whether the provider tells the end of a turn, or the engine must. */
      readonly endpointing: "provider" | "none"
      readonly sampleRates: ReadonlyArray<number>
      readonly keyterms: boolean
    }
    readonly health: Effect.Effect<Health>
    /** Opens a session; closing the scope ends it at once, and no event comes afterwards. */
    readonly open: (options: SpeechToTextOptions) => Effect.Effect<SpeechToTextSession, SpeechToTextError, Scope.Scope>
  }
>() {}
