import { createHash } from "node:crypto"
import * as path from "node:path"
import { dataDir } from "@svc/database/Database"
import type { TextRequest } from "@svc/providers/SpeechTurn"
import { speakText } from "@svc/providers/SpeechTurn"
import { type SpeechRequest, type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { Clock, Config, type ConfigError, Context, Effect, FiberSet, Layer, type Scope } from "effect"
import { noFiles, type SpeechFiles, speechFiles } from "./SpeechFiles.ts"
import { StoredSpeech } from "./StoredSpeech.ts"

type Provider = Context.Tag.Service<TextToSpeech>

/** Where the audio of a text came from. */
export type SpeechSource = "cache" | "synthesis"

/** The longest text that is kept, in characters. */
const longestText = 1000
/** The most audio that is kept in memory, in bytes. */
const memoryBytes = 32 * 1024 * 1024
/** The longest audio of one text, in seconds: more is not speech of it. */
const longestSeconds = 180

/** A synthesis that has no audio after this time is not joined by other calls, in milliseconds. */
const joinableMs = 2000

/** A fixed text: what is spoken, and with which voice. */
export type FixedText = Omit<TextRequest, "sink" | "previousText">

/**
 * The audio of fixed texts, such as greetings, menus and fillers: synthesized once for each voice, language, speed,
 * settings and text, and kept in memory and, where the provider names its settings, on disk. A text that is being
 * synthesized is heard while it grows. What failed, or is not complete, is not kept.
 */
export class SpeechCache extends Context.Tag("@svc/call-engine/SpeechCache")<
  SpeechCache,
  {
    /** Speaks a text from the cache, or synthesizes it into the cache. Completes when all its audio was written. */
    readonly speak: (
      provider: Provider,
      request: TextRequest,
      onSource: (source: SpeechSource) => void
    ) => Effect.Effect<void, TextToSpeechError>
    /** Begins to synthesize a text unless it is known. Completes with its first audio, or when there will be none. */
    readonly prepare: (provider: Provider, text: FixedText) => Effect.Effect<SpeechSource | "none">
  }
>() {
  /** In memory only. */
  static readonly layerMemory: Layer.Layer<SpeechCache> = Layer.scoped(
    SpeechCache,
    Effect.suspend(() => make(noFiles))
  )

  /**
   * With the folder `speech-cache` of `SVC_DATA_DIR`, which holds up to `SVC_SPEECH_CACHE_MB` megabytes (default 256; 0:
   * nothing is kept on disk).
   */
  static readonly layer: Layer.Layer<SpeechCache, ConfigError.ConfigError> = Layer.scoped(
    SpeechCache,
    Effect.gen(function* () {
      const folder = path.join(yield* dataDir, "speech-cache")
      const megabytes = yield* limit
      return yield* make(megabytes === 0 ? noFiles : yield* speechFiles(path.resolve(folder), megabytes * 1024 * 1024))
    })
  )
}

const limit: Config.Config<number> = Config.integer("SVC_SPEECH_CACHE_MB").pipe(
  Config.validate({
    message: "must be 0, or megabytes up to 1000000",
    validation: (megabytes) => megabytes >= 0 && megabytes <= 1_000_000
  }),
  Config.withDefault(256)
)

/** What names the sound of a text. `isStored`: it may be kept on disk. Undefined: it is not kept. */
const keyOf = (
  provider: Provider,
  { callId, language, sampleRate, speed, text, voice }: FixedText
): { readonly name: string; readonly isStored: boolean } | undefined => {
  if (text.length > longestText) return undefined
  const settings = provider.cacheKey === undefined ? "" : provider.cacheKey({ callId, voice, language, speed })
  if (settings === undefined) return undefined
  const parts = [provider.id, settings, voice, language, sampleRate, speed, text]
  return {
    name: createHash("sha256").update(JSON.stringify(parts)).digest("hex"),
    isStored: provider.cacheKey !== undefined
  }
}

const make = (files: SpeechFiles): Effect.Effect<Context.Tag.Service<SpeechCache>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<void>()
    /** By name, those used last at the end. */
    const known = new Map<string, StoredSpeech>()
    let bytes = 0

    const forget = (name: string, speech: StoredSpeech): void => {
      if (known.get(name) !== speech) return
      known.delete(name)
      bytes -= speech.counted
    }

    /** Counts complete speech, and drops what was not used for the longest time. */
    const count = (name: string, speech: StoredSpeech): void => {
      if (known.get(name) !== speech) return
      speech.counted = speech.bytes
      bytes += speech.counted
      for (const [oldest, other] of known) {
        if (bytes <= memoryBytes) return
        if (other.isComplete) forget(oldest, other)
      }
    }

    const use = (name: string, now: number): StoredSpeech | undefined => {
      const speech = known.get(name)
      // Text-to-speech that hangs is asked again.
      if (speech === undefined || speech.isSilentSince(now - joinableMs)) return undefined
      known.delete(name)
      known.set(name, speech)
      return speech
    }

    /** Fills new speech: from disk, or by synthesis, which other calls may join and which goes on without them. */
    const fill = (provider: Provider, text: FixedText, name: string, isStored: boolean, speech: StoredSpeech) =>
      Effect.gen(function* () {
        if (isStored && (yield* files.read(name, speech))) {
          speech.complete()
          count(name, speech)
          return
        }
        speech.source("synthesis")
        const sink: SpeechRequest["sink"] = {
          write: (samples) => {
            speech.write(samples)
            return true
          },
          align: (characters, atSample) => speech.align(characters, atSample),
          drained: Effect.void
        }
        const tooLong = Effect.zipRight(
          speech.hasMoreThan(longestSeconds * text.sampleRate),
          new TextToSpeechError({ reason: `the voice gave more than ${longestSeconds} s of audio`, retryable: false })
        )
        yield* Effect.raceFirst(speakText(provider, { ...text, sink }), tooLong)
        if (speech.samples === 0) {
          speech.complete()
          forget(name, speech)
          return
        }
        speech.complete()
        count(name, speech)
        if (isStored) yield* files.write(name, speech)
      }).pipe(
        Effect.catchAllCause((cause) =>
          Effect.sync(() => {
            forget(name, speech)
            speech.fail(cause)
          })
        )
      )

    /** What is known of a text, or begins to be synthesized; undefined: it is not kept. */
    const find = Effect.fnUntraced(function* (provider: Provider, text: FixedText) {
      const key = keyOf(provider, text)
      if (key === undefined) return undefined
      const now = yield* Clock.currentTimeMillis
      const found = use(key.name, now)
      if (found !== undefined) return { speech: found, isNew: false }
      const speech = new StoredSpeech(text.sampleRate, now)
      known.set(key.name, speech)
      yield* FiberSet.run(fibers, fill(provider, text, key.name, key.isStored, speech))
      return { speech, isNew: true }
    })

    return {
      speak: (provider, request, onSource) =>
        Effect.gen(function* () {
          const { previousText: _, sink, ...text } = request
          const found = yield* find(provider, text)
          if (found === undefined) {
            onSource("synthesis")
            return yield* speakText(provider, request)
          }
          onSource(found.isNew ? yield* found.speech.origin : "cache")
          yield* found.speech.play(sink)
        }),
      prepare: (provider, text) =>
        Effect.gen(function* () {
          const found = yield* find(provider, text)
          if (found === undefined) return "none"
          yield* found.speech.begun
          return found.isNew ? yield* found.speech.origin : "cache"
        })
    }
  })
