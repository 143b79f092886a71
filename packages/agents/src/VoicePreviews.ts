import { createHash } from "node:crypto"
import type { Language } from "@svc/api/agents/Language"
import { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { VoiceNotFound } from "@svc/api/voices/VoicesApi"
import { Providers } from "@svc/providers/Providers"
import { findVoice, isVoiceName, type TextToSpeech } from "@svc/providers/TextToSpeech"
import { Clock, Context, Deferred, Duration, Effect, FiberId, Layer } from "effect"
import { Budget } from "./VoicePreviews/Budget.ts"
import { PreviewCache } from "./VoicePreviews/PreviewCache.ts"
import { record } from "./VoicePreviews/Recording.ts"
import { sentences } from "./VoicePreviews/Sentence.ts"
import { wavOf } from "./VoicePreviews/Wav.ts"
import { Voices } from "./Voices.ts"

/** A sample of a voice: a WAV file and its entity tag, quotes included. */
export interface VoicePreview {
  readonly bytes: Uint8Array
  readonly etag: string
}

/** Concurrent syntheses, and the maximum of previews in progress or waiting. */
const concurrency = 2
const maxPending = 32
/** Timeout of a preview, including its wait for a permit. */
const timeout = Duration.seconds(30)
/** Bytes of cached previews: about 150 at the best quality. */
const cacheBytes = 32 * 1024 * 1024
/** Limits per minute (in ms): syntheses, and failures of one plugin before it is paused. */
const minute = 60_000
const startsPerMinute = 60
const failuresPerMinute = 3
/** Hz. The phone network transmits less. */
const maxSampleRate = 24_000

type Service = Context.Tag.Service<TextToSpeech>

const unavailable = (message: string, ms: number): Unavailable =>
  new Unavailable({ message, retryAfter: Math.max(1, Math.ceil(ms / 1000)) })

/** The highest rate up to the maximum, or else the lowest one. */
const sampleRateOf = ({ sampleRates }: Service): number => {
  const fitting = sampleRates.filter((rate) => rate <= maxSampleRate)
  return fitting.length > 0 ? Math.max(...fitting) : Math.min(...sampleRates, 48_000)
}

const finish = (samples: Int16Array, sampleRate: number): VoicePreview => {
  const bytes = wavOf(samples, sampleRate)
  return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"` }
}

/**
 * Samples of the voices, served without a key. So that an anonymous client cannot overload the plugins or cause costs,
 * there is one fixed sentence per voice and language, each preview is synthesized once and cached, at most two at a
 * time and 60 in a minute. A plugin that failed three times within a minute is not called for the rest of it, so that
 * previews alone hardly open its circuit breaker. Failures are not cached.
 */
export class VoicePreviews extends Context.Tag("@svc/agents/VoicePreviews")<
  VoicePreviews,
  {
    /**
     * The voice in `language`, by default its first one. The synthesis continues when the caller is interrupted.
     * `Unavailable` when the plugin fails or hangs, or when a limit is reached; its message names no plugin.
     */
    readonly get: (
      voice: string,
      language: Language | undefined
    ) => Effect.Effect<VoicePreview, VoiceNotFound | ValidationError | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<VoicePreviews, never, Voices | Providers> = Layer.scoped(
    VoicePreviews,
    Effect.gen(function* () {
      const voices = yield* Voices
      const { textToSpeech } = yield* Providers
      const scope = yield* Effect.scope
      const permits = yield* Effect.makeSemaphore(concurrency)
      const cache = new PreviewCache<VoicePreview>(cacheBytes)
      const pending = new Map<string, Deferred.Deferred<VoicePreview, Unavailable>>()
      const starts = new Budget(startsPerMinute, minute)
      const failures = new Map(textToSpeech.map((speech) => [speech, new Budget(failuresPerMinute, minute)]))

      /** Chosen as for calls: the first plugin with the voice in that language, else the preferred one. */
      const pluginFor = (voice: string, language: Language): Service | undefined =>
        textToSpeech.find((speech) =>
          speech.voices.some(
            ({ languages, name }) => isVoiceName(name, voice) && (languages === "*" || languages.includes(language))
          )
        ) ?? textToSpeech[0]

      const make = Effect.fnUntraced(function* (speech: Service, voice: string, language: Language) {
        const now = yield* Clock.currentTimeMillis
        const paused = failures.get(speech)?.wait(now) ?? 0
        if (paused > 0) return yield* unavailable("The voice does not work right now", paused)
        const busy = starts.wait(now)
        if (busy > 0) return yield* unavailable("Too many previews were asked for; try again later", busy)
        starts.take(now)
        const sampleRate = sampleRateOf(speech)
        const samples = yield* record(speech, { text: sentences[language], voice, language, sampleRate }).pipe(
          Effect.tapError(({ reason, retryable }) =>
            Effect.flatMap(Clock.currentTimeMillis, (failedAt) => {
              // An error that a retry cannot fix, such as an unknown voice, does not mean that the plugin fails.
              if (retryable) failures.get(speech)?.take(failedAt)
              return Effect.logWarning(`no preview of the voice "${voice}" in ${language}: ${speech.id}: ${reason}`)
            })
          ),
          Effect.mapError(() => new Unavailable({ message: "The voice could not speak its preview" }))
        )
        return finish(samples, sampleRate)
      })

      /** Starts a preview in the background. Call it only in an uninterruptible region. */
      const begin = (key: string, speech: Service, voice: string, language: Language) => {
        const made = Deferred.unsafeMake<VoicePreview, Unavailable>(FiberId.none)
        pending.set(key, made)
        const work = make(speech, voice, language).pipe(
          permits.withPermits(1),
          Effect.timeoutFail({
            duration: timeout,
            onTimeout: () => unavailable("Too many previews were asked for; try again later", 1000)
          }),
          Effect.interruptible,
          Effect.onExit((exit) => {
            pending.delete(key)
            if (exit._tag === "Success") cache.put(key, exit.value)
            return Deferred.done(made, exit)
          })
        )
        return Effect.as(Effect.forkIn(work, scope), made)
      }

      return {
        get: (voice, language) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.suspend((): Effect.Effect<VoicePreview, VoiceNotFound | ValidationError | Unavailable> => {
              const spoken = voices.find(voice)
              const wanted = language ?? spoken?.languages[0]
              if (spoken === undefined || wanted === undefined || spoken.languages.length === 0) {
                return Effect.fail(new VoiceNotFound())
              }
              if (!spoken.languages.includes(wanted)) {
                return Effect.fail(ValidationError.field("language", "voice not available for the selected language"))
              }
              const key = `${wanted} ${spoken.name}`
              const cached = cache.get(key)
              if (cached !== undefined) return Effect.succeed(cached)
              const inProgress = pending.get(key)
              if (inProgress !== undefined) return restore(Deferred.await(inProgress))
              const speech = pluginFor(spoken.name, wanted)
              if (speech === undefined) {
                return Effect.fail(new Unavailable({ message: "No text-to-speech plugin is loaded" }))
              }
              if (pending.size >= maxPending) {
                return Effect.fail(unavailable("Too many previews were asked for; try again later", 1000))
              }
              return Effect.flatMap(
                begin(key, speech, findVoice(speech.voices, spoken.name)?.name ?? spoken.name, wanted),
                (made) => restore(Deferred.await(made))
              )
            })
          )
      }
    })
  )
}
