import { Context, Data, type Effect, type Scope } from "effect"
import type { Health } from "./Health.ts"

/** A word with its time, in milliseconds of the audio that was pushed to the session. */
export interface SpokenWord {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** An event of a session, emitted synchronously and in order. */
export type SpeechEvent =
  | { readonly _tag: "SpeechStarted" }
  /** The words of the current utterance so far; replaces the previous partial. `language`: what was detected, BCP-47. */
  | { readonly _tag: "Partial"; readonly text: string; readonly language?: string }
  /**
   * Words that will not change; `confidence` 0..1. `end`: up to where the audio that was pushed is transcribed, in
   * milliseconds, where the times of the words are not known. With neither, all that was pushed counts as transcribed.
   */
  | {
      readonly _tag: "Final"
      readonly text: string
      readonly confidence: number
      readonly language?: string
      readonly words?: ReadonlyArray<SpokenWord>
      readonly end?: number
    }
  /** The caller has probably finished a turn, in which they said `text`. `TurnResumed` withdraws it. */
  | { readonly _tag: "EagerEndOfTurn"; readonly text: string }
  /** The caller goes on after `EagerEndOfTurn`. */
  | { readonly _tag: "TurnResumed" }
  /**
   * The caller has finished a turn; only from providers with `endpointing: "provider"`. After an `EagerEndOfTurn` that
   * was not withdrawn the turn has the same text.
   */
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
  /** Milliseconds of silence that end a turn. Absent: the provider's own. */
  readonly endpointingMs?: number
  readonly onEvent: (event: SpeechEvent) => void
}

/** Options that may change in a session. */
export type SpeechToTextChange = Partial<Pick<SpeechToTextOptions, "language" | "keyterms" | "endpointingMs">>

/**
 * A session. Its audio is not always live: when a session breaks, the engine opens another, and pushes again what was
 * heard and is not final yet, as fast as it can.
 */
export interface SpeechToTextSession {
  /** Whether this session emits `EndOfTurn`, where it differs from the provider's others. Absent: as the provider says. */
  readonly endpointing?: "provider" | "none"
  /** PCM16 samples, usually 20 ms, valid only during the call. Synchronous; must not throw. */
  readonly push: (samples: Int16Array) => void
  /** Makes what was heard final now. Absent where the provider cannot. Synchronous; must not throw. */
  readonly flush?: () => void
  /**
   * Changes options for what is pushed from now on. Returns whether it could; otherwise the engine opens another session.
   * Absent where the provider can change none. Synchronous; must not throw.
   */
  readonly update?: (change: SpeechToTextChange) => boolean
  /**
   * The engine's voice activity: the caller starts or stops to speak with the samples pushed next. For providers that
   * transcribe whole segments; see `bySegments` in `@svc/providers/SpeechSegments`. Synchronous; must not throw.
   */
  readonly voiceActivity?: (on: boolean) => void
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
      /** In Hz. The engine pushes at the call's own rate if it is among them, else at the nearest higher one. */
      readonly sampleRates: ReadonlyArray<number>
      readonly keyterms: boolean
    }
    readonly health: Effect.Effect<Health>
    /** Opens a session. Closing the scope ends it at once, and no event follows. */
    readonly open: (options: SpeechToTextOptions) => Effect.Effect<SpeechToTextSession, SpeechToTextError, Scope.Scope>
  }
>() {}
