import type { CallUsage } from "@svc/api/calls/CallUsage"
import { nearestRate, Resampler } from "@svc/audio/Resampler"
import type { CommandOf } from "@svc/conversation/Command"
import { speakText } from "@svc/providers/SpeechTurn"
import { Effect, FiberHandle, type Scope } from "effect"
import type { CallMedia } from "../media/CallMedia.ts"
import { reasonOf } from "./Failure.ts"
import type { ChooseVoice } from "./VoiceChoice.ts"

/** Longest wait for the first or the next audio of an utterance, in milliseconds. */
const silentMs = 10_000
/** The same when utterances before it were stopped without any audio: a voice that hangs is not waited for again. */
const shortestSilentMs = 1000

/**
 * The text-to-speech of a call: synthesizes one utterance after the other into the media, the next while the previous
 * still plays. The media reports which utterances were played.
 */
export interface SpeechOutput {
  readonly speak: (command: CommandOf<"Speak">) => void
  /** Stops at once. Returns what had been played of each unfinished utterance. */
  readonly stop: () => ReadonlyArray<{ readonly id: string; readonly played: string }>
  /** When the provider was asked for the utterance, and when it returned the first audio. Can be read once. */
  readonly timesOf: (id: string) => { readonly asked_at: number; readonly audio_at: number } | undefined
  /** Characters of the texts that were to be synthesized until now. */
  readonly used: () => CallUsage["tts"]
}

export const make = (options: {
  readonly callId: string
  readonly media: CallMedia
  readonly sampleRate: number
  readonly chooseVoice: ChooseVoice
  readonly onFailed: (id: string, reason: string) => void
  /** The call's time, in milliseconds. */
  readonly now: () => number
}): Effect.Effect<SpeechOutput, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { media } = options
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    let queue: Array<CommandOf<"Speak">> = []
    let working = false
    let characters = 0
    /** How long the caller has waited for utterances that were stopped before they gave any audio, in milliseconds. */
    let waited = 0
    /** When the utterance that has given no audio yet was asked for. */
    let silentSince: number | undefined
    /** Raised by `stop`: audio of an earlier epoch is dropped. */
    let epoch = 0
    /** Times of the utterances of which no frame has been sent. */
    const times = new Map<string, { readonly asked_at: number; readonly audio_at: number }>()

    const drained = Effect.async<void>((resume) => {
      const forget = media.onDrained(() => resume(Effect.void))
      return Effect.sync(forget)
    })

    const synthesize = (command: CommandOf<"Speak">): Effect.Effect<void> =>
      Effect.suspend(() => {
        const mine = epoch
        media.begin(command.id, command.text)
        characters += command.text.length
        const asked_at = options.now()
        silentSince = asked_at
        const { provider, voice } = options.chooseVoice(command)
        const rates = provider.sampleRatesFor?.({ callId: options.callId, voice, language: command.language })
        const sampleRate = nearestRate(options.sampleRate, rates ?? provider.sampleRates)
        const ratio = options.sampleRate / sampleRate
        const resampler = ratio === 1 ? undefined : new Resampler(sampleRate, options.sampleRate)
        let written = 0
        const request = {
          callId: options.callId,
          turn: command.id,
          text: command.text,
          voice,
          language: command.language,
          sampleRate,
          speed: command.speed ?? 1,
          sink: {
            write: (samples: Int16Array) => {
              if (mine === epoch) {
                silentSince = undefined
                waited = 0
              }
              if (written === 0 && mine === epoch) times.set(command.id, { asked_at, audio_at: options.now() })
              written += samples.length
              return mine !== epoch || media.write(resampler?.push(samples) ?? samples)
            },
            align: (characters: number, atSample: number) => {
              if (mine === epoch) media.align(command.id, characters, Math.round(atSample * ratio))
            },
            drained
          }
        }
        /** Fails when nothing is written for a while although there is room. */
        const watch = Effect.gen(function* () {
          let limit = Math.max(shortestSilentMs, silentMs - waited)
          for (let before = -1; before !== written || media.busy; limit = silentMs) {
            before = written
            yield* Effect.sleep(limit)
          }
          return yield* Effect.fail({ reason: "the voice gave no audio" })
        })
        const rest = Effect.sync(() => {
          if (resampler !== undefined && mine === epoch) media.write(resampler.end())
        })
        return speakText(provider, request).pipe(
          Effect.raceFirst(watch),
          Effect.zipLeft(rest),
          Effect.zipRight(Effect.suspend(() => (media.overflowing ? drained : Effect.void))),
          Effect.matchCause({
            onSuccess: () => (media.end() ? undefined : "the voice gave no audio"),
            onFailure: (cause) => {
              media.end()
              return reasonOf(cause)
            }
          }),
          Effect.flatMap((failure) =>
            failure === undefined || mine !== epoch
              ? Effect.void
              : Effect.sync(() => options.onFailed(command.id, failure))
          )
        )
      })

    const work: Effect.Effect<void> = Effect.gen(function* () {
      const mine = epoch
      // After `stop`, which a failure may cause at once, the queue belongs to another fiber.
      while (mine === epoch) {
        const next = queue.shift()
        if (next === undefined) {
          working = false
          return
        }
        yield* synthesize(next)
      }
    })

    return {
      speak: (command) => {
        queue.push(command)
        if (working) return
        working = true
        run(work)
      },
      stop: () => {
        const unplayed = queue.map(({ id }) => ({ id, played: "" }))
        queue = []
        working = false
        epoch++
        if (silentSince !== undefined) waited += options.now() - silentSince
        silentSince = undefined
        times.clear()
        const cuts = media.clear()
        run(Effect.void)
        return [...cuts, ...unplayed]
      },
      timesOf: (id) => {
        const found = times.get(id)
        times.delete(id)
        return found
      },
      used: () => ({ characters, cached_characters: 0 })
    }
  })
