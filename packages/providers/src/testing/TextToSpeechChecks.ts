import { Deferred, Effect, Fiber } from "effect"
import { type AudioSink, TextToSpeech, TextToSpeechError } from "../TextToSpeech.ts"
import { bench, type Check, CheckFailed, type CheckOptions, must, noError } from "./Check.ts"
import { stops } from "./Interruption.ts"
import { leavesNothing } from "./Leaks.ts"
import { words } from "./Words.ts"

type Service = typeof TextToSpeech.Service

export interface TextToSpeechCheckOptions extends CheckOptions<TextToSpeech> {
  /** Two passages that take some seconds to say. */
  readonly texts?: readonly [string, string]
  /** Understands what the voice says. Without it, order and mixing are judged by the amount of audio alone. */
  readonly hear?: (samples: Int16Array, sampleRate: number) => Effect.Effect<string>
}

/** What is asked for, where it is not the first rate and voice, and English. */
interface Wanted {
  readonly rate?: number
  readonly voice?: string
  readonly language?: string
}

/** A sink that remembers what was written; `room` decides whether it is full after each write. */
const recorder = (room: () => boolean, drained: Effect.Effect<void>) => {
  const chunks: Array<Int16Array> = []
  const aligned: Array<number> = []
  const state = { writes: 0 }
  const sink: AudioSink = {
    write: (samples) => {
      state.writes++
      chunks.push(samples.slice())
      return room()
    },
    align: (characters) => {
      aligned.push(characters)
    },
    drained
  }
  return { sink, chunks, aligned, writes: () => state.writes, length: () => chunks.reduce((n, c) => n + c.length, 0) }
}
type Recorder = ReturnType<typeof recorder>

const endless = () => recorder(() => true, Effect.void)

const joined = ({ chunks, length }: Recorder): Int16Array => {
  const all = new Int16Array(length())
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/** What every synthesizer must do. */
export const textToSpeechChecks = (options: TextToSpeechCheckOptions): ReadonlyArray<Check> => {
  const tools = bench(TextToSpeech, options)
  const { check, eventually, fault, quiet, within } = tools
  const [first, second] = options.texts ?? ["The quick brown fox jumps over the lazy dog.", "Pack my box with jugs."]

  const rateOf = (service: Service) => service.sampleRates[0] ?? 8000
  const speak = (service: Service, text: string, to: Recorder, more: Wanted = {}) =>
    Effect.suspend(() =>
      service.synthesize({
        callId: "call_conformance",
        text,
        voice: more.voice ?? service.voices[0]?.name ?? "Sarah",
        language: more.language ?? "en-US",
        sampleRate: more.rate ?? rateOf(service),
        sink: to.sink
      })
    )
  const spoken = (service: Service, text: string, to: Recorder, more: Wanted = {}) =>
    within("synthesize", speak(service, text, to, more)).pipe(noError("synthesize"))

  /** Fails unless the audio says the text; without ears, unless there is audio. */
  const says = (recording: Recorder, rate: number, text: string) =>
    Effect.gen(function* () {
      yield* must(recording.length() > 0, `no audio was written for "${text}"`)
      if (options.hear === undefined) return
      const heard = words(yield* options.hear(joined(recording), rate))
      yield* must(heard === words(text), `the audio for "${words(text)}" says "${heard}"`)
    })

  /** With a peer that breaks: a typed error, in time, and nothing written after. */
  const failsTyped = (service: Service) =>
    Effect.gen(function* () {
      const recording = endless()
      const outcome = yield* Effect.either(within("synthesize", speak(service, first, recording)))
      const count = recording.writes()
      yield* must(outcome._tag === "Left", "synthesize completed as if all had been said")
      if (outcome._tag === "Left" && outcome.left instanceof CheckFailed) return yield* outcome.left
      if (outcome._tag === "Left") {
        yield* must(outcome.left instanceof TextToSpeechError, `synthesize failed with ${outcome.left}`)
      }
      yield* quiet
      yield* must(recording.writes() === count, "it wrote something after it had failed")
    })

  return [
    check("declares voices and sample rates", (service) =>
      Effect.gen(function* () {
        const names = service.voices.map(({ name }) => name)
        yield* must(names.length > 0, "it declares no voice")
        yield* must(new Set(names).size === names.length, "two of its voices have the same name")
        yield* must(service.sampleRates.length > 0, "it declares no sample rate")
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("speaks at every sample rate that it declares, equally long", (service) =>
      Effect.gen(function* () {
        const seconds: Array<number> = []
        for (const rate of service.sampleRates) {
          const recording = endless()
          yield* spoken(service, first, recording, { rate })
          yield* says(recording, rate, first)
          seconds.push(recording.length() / rate)
        }
        const [shortest, longest] = [Math.min(...seconds), Math.max(...seconds)]
        yield* must(longest <= shortest * 1.5, `the same text takes from ${shortest} s to ${longest} s`)
      })
    ),
    check("speaks with its voices", (service) =>
      Effect.forEach(service.voices.slice(0, 5), ({ languages, name }) =>
        Effect.gen(function* () {
          const recording = endless()
          yield* spoken(service, second, recording, {
            voice: name,
            language: languages === "*" ? "en-US" : (languages[0] ?? "en-US")
          })
          yield* must(recording.length() > 0, `the voice ${name} wrote no audio`)
        })
      )
    ),
    check("writes all the audio before it completes, and none after", (service) =>
      Effect.gen(function* () {
        const recording = endless()
        yield* spoken(service, first, recording)
        const count = recording.writes()
        yield* says(recording, rateOf(service), first)
        yield* quiet
        yield* must(recording.writes() === count, "it wrote something after it had completed")
      })
    ),
    check("completes for a text with nothing to say", (service) => spoken(service, "", endless())),
    check("tells alignments in order, within the text", (service) =>
      Effect.gen(function* () {
        const recording = endless()
        yield* spoken(service, first, recording)
        let last = 0
        for (const characters of recording.aligned) {
          yield* must(characters >= last, `it aligned to ${characters} after ${last}`)
          yield* must(characters <= first.length, `it aligned to ${characters} of ${first.length} characters`)
          last = characters
        }
      })
    ),
    check("stops writing while the sink is full, and goes on when there is room", (service) =>
      Effect.gen(function* () {
        const whole = endless()
        yield* spoken(service, first, whole)
        let waiting = yield* Deferred.make<void>()
        const recording = recorder(
          () => false,
          Effect.suspend(() => Deferred.await(waiting))
        )
        const fiber = yield* Effect.fork(speak(service, first, recording))
        for (let round = 0; round < 3; round++) {
          const before = recording.writes()
          yield* eventually("a write or the end", () => recording.writes() > before || fiber.unsafePoll() !== null)
          yield* quiet
          yield* must(
            recording.writes() <= before + 1,
            `it wrote ${recording.writes() - before} times though the sink was full`
          )
          yield* Deferred.succeed(waiting, undefined)
          waiting = yield* Deferred.make<void>()
        }
        const open = Effect.forever(
          Effect.suspend(() => Effect.zipRight(Deferred.succeed(waiting, undefined), Effect.sleep(1)))
        )
        yield* within("synthesize into a slow sink", Effect.raceFirst(Fiber.join(fiber), open)).pipe(
          noError("synthesize")
        )
        yield* must(
          recording.length() >= whole.length() * 0.9,
          `of ${whole.length()} samples, ${recording.length()} reached a slow sink`
        )
      })
    ),
    check("writes nothing after it was interrupted", (service) =>
      Effect.gen(function* () {
        const recording = endless()
        const fiber = yield* Effect.forkDaemon(speak(service, `${first} ${second} `.repeat(10), recording))
        yield* eventually("the first audio", () => recording.writes() > 0)
        yield* stops(tools, fiber, () => recording.writes())
      })
    ),
    check("can be interrupted while it waits for room", (service) =>
      Effect.gen(function* () {
        const recording = recorder(() => false, Effect.never)
        const fiber = yield* Effect.forkDaemon(speak(service, first, recording))
        yield* eventually("the first audio", () => recording.writes() > 0)
        yield* quiet
        yield* stops(tools, fiber, () => recording.writes())
      })
    ),
    check("keeps two passages at once apart", (service) =>
      Effect.gen(function* () {
        const [left, right] = [endless(), endless()]
        yield* Effect.all([spoken(service, first, left), spoken(service, second, right)], { concurrency: 2 })
        yield* says(left, rateOf(service), first)
        yield* says(right, rateOf(service), second)
      })
    ),
    check("answers an unknown voice with speech or a typed error", (service) =>
      Effect.gen(function* () {
        const outcome = yield* Effect.either(
          within("synthesize", speak(service, first, endless(), { voice: "no such voice" }))
        )
        if (outcome._tag === "Right") return
        if (outcome.left instanceof CheckFailed) return yield* outcome.left
        yield* must(outcome.left instanceof TextToSpeechError, `synthesize failed with ${outcome.left}`)
      })
    ),
    check("leaves nothing behind after many passages", (service) =>
      leavesNothing(
        tools,
        options,
        Effect.gen(function* () {
          const recording = recorder(() => false, Effect.never)
          const fiber = yield* Effect.forkDaemon(speak(service, second, recording))
          yield* eventually("the first audio", () => recording.writes() > 0 || fiber.unsafePoll() !== null)
          yield* within("interrupting synthesize", Fiber.interrupt(fiber))
        })
      )
    ),
    ...fault(options.faults?.refuses, "peer refuses: fails with a typed error", failsTyped),
    ...fault(options.faults?.hangs, "peer hangs: can be interrupted", (service) =>
      Effect.gen(function* () {
        const recording = endless()
        const fiber = yield* Effect.forkDaemon(speak(service, first, recording))
        yield* quiet
        yield* stops(tools, fiber, () => recording.writes())
      })
    ),
    ...fault(options.faults?.closesEarly, "peer closes early: fails with a typed error", failsTyped),
    ...fault(options.faults?.sendsGarbage, "peer sends garbage: fails with a typed error", failsTyped)
  ]
}
