import { createHash } from "node:crypto"
import type { Language } from "@svc/api/agents/Language"
import { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { VoiceNotFound } from "@svc/api/voices/VoicesApi"
import { Providers } from "@svc/providers/Providers"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import { Clock, Context, Deferred, Duration, Effect, FiberId, Layer } from "effect"
import { Budget } from "./VoicePreviews/Budget.ts"
import { PreviewCache } from "./VoicePreviews/PreviewCache.ts"
import { record } from "./VoicePreviews/Recording.ts"
import { sentences } from "./VoicePreviews/Sentence.ts"
import { wavOf } from "./VoicePreviews/Wav.ts"
import { Voices } from "./Voices.ts"

/** A sample of a voice: a WAV file, and what a cache knows it by (an entity tag in its quotes). */
export interface VoicePreview {
  readonly bytes: Uint8Array
  readonly etag: string
}

/** Syntheses at the same time, and previews that are in progress or waiting. */
const concurrency = 2
const maxPending = 32
/** Longest wait for a preview, its turn included. */
const deadline = Duration.seconds(30)
/** Bytes of finished previews that are kept: some 150 at the best quality. */
const room = 32 * 1024 * 1024
/** Limits per minute (in ms): syntheses, and failures of one plugin before it is paused. */
const minute = 60_000
const startsPerMinute = 60
const failuresPerMinute = 3
/** Hz. More is lost on the phone anyway. */
const bestRate = 24_000

type Service = Context.Tag.Service<TextToSpeech>

const later = (message: string, ms: number): Unavailable =>
  new Unavailable({ message, retryAfter: Math.max(1, Math.ceil(ms / 1000)) })

/** The best rate that is not better than needed. */
const rateOf = ({ sampleRates }: Service): number => {
  const fitting = sampleRates.filter((rate) => rate <= bestRate)
  return fitting.length > 0 ? Math.max(...fitting) : Math.min(...sampleRates, 48_000)
}

const finish = (samples: Int16Array, sampleRate: number): VoicePreview => {
  const bytes = wavOf(samples, sampleRate)
  return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"` }
}

/**
 * Samples of the voices, served without a key. An anonymous client must not be able to keep the
 * plugins busy or to spend money: there is one fixed sentence per voice and language, each is made at most once at a time
 * and then kept, two are made at once, 60 in a minute, and a plugin that failed three times within a minute is not asked
 * for the rest of it, so that previews alone hardly open its circuit breaker. Failures are not kept.
 */
export class VoicePreviews extends Context.Tag("@svc/agents/VoicePreviews")<
  VoicePreviews,
  {
    /**
     * The voice in `language`, or in its own first one. It goes on being made when the caller does not wait for it.
     * `Unavailable` when the plugin fails or hangs, or when there is too much to do; its message names no plugin.
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
      const turns = yield* Effect.makeSemaphore(concurrency)
      const cache = new PreviewCache<VoicePreview>(room)
      const pending = new Map<string, Deferred.Deferred<VoicePreview, Unavailable>>()
      const starts = new Budget(startsPerMinute, minute)
      const failures = new Map(textToSpeech.map((speech) => [speech, new Budget(failuresPerMinute, minute)]))

      /** As calls choose: the first plugin with the voice in that language, else the preferred one. */
      const speakerOf = (voice: string, language: Language): Service | undefined =>
        textToSpeech.find((speech) =>
          speech.voices.some(
            ({ languages, name }) => name === voice && (languages === "*" || languages.includes(language))
          )
        ) ?? textToSpeech[0]

      const make = Effect.fnUntraced(function* (speech: Service, voice: string, language: Language) {
        const now = yield* Clock.currentTimeMillis
        const paused = failures.get(speech)?.wait(now) ?? 0
        if (paused > 0) return yield* later("The voice does not work right now", paused)
        const busy = starts.wait(now)
        if (busy > 0) return yield* later("Too many previews were asked for; try again later", busy)
        starts.take(now)
        const sampleRate = rateOf(speech)
        const samples = yield* record(speech, { text: sentences[language], voice, language, sampleRate }).pipe(
          Effect.tapError(({ reason, retryable }) =>
            Effect.flatMap(Clock.currentTimeMillis, (failedAt) => {
              // One that no other attempt mends is a voice that the plugin lacks, and no sign that the plugin is ill.
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
          turns.withPermits(1),
          Effect.timeoutFail({
            duration: deadline,
            onTimeout: () => later("Too many previews were asked for; try again later", 1000)
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
              const spoken = voices.languagesOf(voice)
              const wanted = language ?? spoken[0]
              if (wanted === undefined || spoken.length === 0) return Effect.fail(new VoiceNotFound())
              if (!spoken.includes(wanted)) {
                return Effect.fail(ValidationError.field("language", "voice not available for the selected language"))
              }
              const key = `${wanted} ${voice}`
              const kept = cache.get(key)
              if (kept !== undefined) return Effect.succeed(kept)
              const already = pending.get(key)
              if (already !== undefined) return restore(Deferred.await(already))
              const speech = speakerOf(voice, wanted)
              if (speech === undefined) {
                return Effect.fail(new Unavailable({ message: "No text-to-speech plugin is loaded" }))
              }
              if (pending.size >= maxPending) {
                return Effect.fail(later("Too many previews were asked for; try again later", 1000))
              }
              return Effect.flatMap(begin(key, speech, voice, wanted), (made) => restore(Deferred.await(made)))
            })
          )
      }
    })
  )
}
