import { type Health, healthy } from "@svc/providers/Health"
import type { HostLog } from "@svc/providers/Host"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import { TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { Config, Effect, Layer, Option } from "effect"
import { type EspeakFailed, type EspeakProgram, outputOf, start } from "./EspeakProcess.ts"
import { espeakVoices } from "./EspeakVoices.ts"
import { sampleRate, WavStream } from "./WavStream.ts"
import { SpeechLength, wordTimes } from "./WordTimes.ts"

export interface EspeakOptions {
  /** Name or path of the program. */
  readonly program: string
  /** At speed 1. */
  readonly wordsPerMinute: number
  readonly log: HostLog
}

/** What the program takes for its option `-s`. */
const slowest = 80
const fastest = 450
/** How long it is known whether the program works. */
const inspectionTtl = "10 seconds"

/**
 * A text as the program may read it. NUL ends a text, U+0001 begins a command, and `[[` phonemes: none of them is meant to
 * be spoken. Lone surrogates become U+FFFD with the encoding.
 */
const readable = (text: string): string => text.replace(/[\u0000-\u001f\u007f]/g, " ").replace(/\[(?=\[)/g, "[ ")

/** The variables that the program needs. The others of the server may be secrets. */
const environment = Effect.map(
  Effect.forEach(["PATH", "ESPEAK_DATA_PATH"], (name) =>
    Effect.map(Effect.orDie(Config.option(Config.string(name))), (value) => Option.toArray(value).map((v) => [name, v]))
  ),
  (pairs): Readonly<Record<string, string>> => ({ LC_ALL: "C.UTF-8", ...Object.fromEntries(pairs.flat()) })
)

const failed = (retryable: boolean) => (error: { readonly reason: string }) =>
  new TextToSpeechError({ reason: error.reason, retryable })

/** Speaks one text with a process of its own. */
const speak = (options: EspeakOptions, program: EspeakProgram, voice: string, request: TextRequest) => {
  const text = readable(request.text)
  if (text.trim() === "") return Effect.void
  const speed = Math.min(fastest, Math.max(slowest, Math.round(options.wordsPerMinute * request.speed)))
  const args = ["-v", voice, "-s", String(speed), "-b", "1", "--stdin", "--stdout"]
  return Effect.gen(function* () {
    const { sink } = request
    const process = yield* start(program, args, text)
    const wav = new WavStream()
    const length = new SpeechLength()
    for (let bytes = yield* process.next; bytes !== null; bytes = yield* process.next) {
      const samples = wav.push(bytes)
      if (samples === undefined) return yield* failed(true)({ reason: "the program wrote no WAV file of 22,050 Hz" })
      if (samples.length === 0) continue
      length.add(samples)
      // While the sink is full, the pipe fills and the program waits.
      if (!sink.write(samples)) yield* sink.drained
    }
    yield* process.ended
    if (!wav.isComplete) return yield* failed(true)({ reason: "the program wrote an incomplete WAV file" })
    for (const { atSample, characters } of wordTimes(request.text, length.spoken)) sink.align(characters, atSample)
    if (process.errorText() !== "") {
      options.log.warning(`espeak-ng: ${process.errorText()}`, { call_id: request.callId })
    }
  }).pipe(Effect.scoped, Effect.catchTag("EspeakFailed", failed(true)))
}

/** The text-to-speech of the program. When it is missing, the provider is unhealthy and says what to install. */
export const layer = (options: EspeakOptions): Layer.Layer<TextToSpeech> =>
  Layer.effect(
    TextToSpeech,
    Effect.gen(function* () {
      const program: EspeakProgram = { program: options.program, environment: yield* environment }
      let known = espeakVoices("", "")
      let problem: string | undefined
      const report = (reason: string) =>
        Effect.sync((): Health => {
          if (problem !== reason) options.log.error(reason)
          problem = reason
          return { healthy: false, reason }
        })
      const inspect: Effect.Effect<Health, EspeakFailed> = Effect.gen(function* () {
        known = espeakVoices(yield* outputOf(program, ["--voices"]), yield* outputOf(program, ["--voices=variant"]))
        if (known.voices.length === 0) {
          return yield* report(`the program "${options.program}" has no voice for a language of the platform`)
        }
        problem = undefined
        return healthy
      })
      const health = yield* Effect.cachedWithTTL(
        Effect.catchAll(inspect, ({ reason }) => report(reason)),
        inspectionTtl
      )
      yield* health
      return {
        id: "espeak",
        get voices() {
          return known.voices
        },
        sampleRates: [sampleRate],
        health,
        open: (request) =>
          Effect.gen(function* () {
            if (known.voices.length === 0) {
              const state = yield* health
              if (!state.healthy) return yield* failed(true)(state)
            }
            if (request.sampleRate !== sampleRate) {
              return yield* failed(false)({ reason: `${request.sampleRate} Hz is not supported` })
            }
            const voice = known.argumentOf(request.voice, request.language)
            if ("problem" in voice) return yield* failed(false)({ reason: voice.problem })
            return yield* byText((piece) => speak(options, program, voice.argument, piece))(request)
          })
      }
    })
  )
