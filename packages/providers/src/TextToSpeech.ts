import { Context, Data, type Effect, type Scope } from "effect"
import type { Health } from "./Health.ts"

export class TextToSpeechError extends Data.TaggedError("TextToSpeechError")<{
  readonly reason: string
  readonly retryable: boolean
}> {}

/**
 * A voice. `languages` is `"*"` when it speaks every supported language. Case of names is ignored: where agents and
 * callers write it otherwise, the provider gets the name as it is here.
 */
export interface Voice {
  readonly name: string
  readonly languages: "*" | ReadonlyArray<string>
  readonly gender: "female" | "male" | "neutral"
}

/** Whether two names are those of one voice: case is ignored. */
export const isVoiceName = (a: string, b: string): boolean => a === b || a.toLowerCase() === b.toLowerCase()

/** The voice of this name; of several that differ in case only the one that is written so, else the first. */
export const findVoice = (voices: ReadonlyArray<Voice>, name: string): Voice | undefined =>
  voices.find((voice) => voice.name === name) ?? voices.find((voice) => isVoiceName(voice.name, name))

/** Receives synthesized audio. */
export interface AudioSink {
  /** Accepts PCM16 samples. `false`: accepted, but the sink is now full; await `drained` before the next write. */
  readonly write: (samples: Int16Array) => boolean
  /**
   * Reports that the first `characters` (UTF-16 units) of all text of the turn are spoken when the first `atSample`
   * samples of the turn have been played. May come before or after the audio; neither value ever decreases. Optional;
   * makes cuts exact.
   */
  readonly align: (characters: number, atSample: number) => void
  /** Completes when the sink has room again. */
  readonly drained: Effect.Effect<void>
}

/** What one turn of the agent is spoken with. */
export interface SpeechRequest {
  readonly callId: string
  /** Names the turn, unique within the call. */
  readonly turn: string
  readonly voice: string
  /** BCP-47. */
  readonly language: string
  /** Sample rate in Hz of the PCM16 samples, one of the provider's. */
  readonly sampleRate: number
  /** Relative to the voice's own speed, 0.5 to 2. A provider without a setting for it speaks at its own. */
  readonly speed: number
  /** What the agent said before this turn, so that the melody fits. */
  readonly previousText?: string
  readonly sink: AudioSink
}

/**
 * One turn of the agent, spoken without a break: what vendors call a context. Text comes in pieces, of a clause or
 * more, while the model still writes the rest. They are concatenated as they are, spaces included.
 */
export interface SpeechTurn {
  /** Adds text, which is spoken as soon as possible. Synchronous; must not throw. */
  readonly say: (text: string) => void
  /** No text follows. Synchronous; must not throw. */
  readonly end: () => void
  /** Completes when the turn was ended and all its audio was written. Fails whenever the turn fails. */
  readonly done: Effect.Effect<void, TextToSpeechError>
}

/** A text-to-speech provider. */
export class TextToSpeech extends Context.Tag("@svc/providers/TextToSpeech")<
  TextToSpeech,
  {
    readonly id: string
    /** Read at each use: a getter may return other voices later. */
    readonly voices: ReadonlyArray<Voice>
    /** In Hz. The engine asks for the call's own rate if it is among them, else for the nearest higher one, and converts. */
    readonly sampleRates: ReadonlyArray<number>
    /**
     * The rates of one voice in one call, some of `sampleRates`, where they differ from these. Asked before each turn.
     * Synchronous; must not throw.
     */
    readonly sampleRatesFor?: (turn: Pick<SpeechRequest, "callId" | "voice" | "language">) => ReadonlyArray<number>
    /**
     * Names what else the sound depends on, such as the model and the settings of the voice. Fixed texts, such as
     * greetings, are synthesized once for each key and kept, also on disk and for other calls. Undefined: not to be kept.
     * Absent: nothing else, as long as the process runs. Asked before each fixed text. Synchronous; must not throw.
     */
    readonly cacheKey?: (turn: Pick<SpeechRequest, "callId" | "voice" | "language" | "speed">) => string | undefined
    readonly health: Effect.Effect<Health>
    /**
     * Opens a turn. Closing its scope cancels it: it stops within 50 ms, and no write follows. See `byText` in
     * `@svc/providers/SpeechTurn` for a provider that synthesizes one text at a time.
     */
    readonly open: (request: SpeechRequest) => Effect.Effect<SpeechTurn, TextToSpeechError, Scope.Scope>
  }
>() {}
