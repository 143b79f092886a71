import { Deferred, Effect, Fiber } from "effect"
import { speakText } from "../SpeechTurn.ts"
import { type AudioSink, TextToSpeech, TextToSpeechError } from "../TextToSpeech.ts"
import { type Check, CheckFailed, type CheckOptions, makeHarness, must, mustSucceed, normalized } from "./Check.ts"
import { mustStop } from "./Interruption.ts"
import { mustNotLeak } from "./Leaks.ts"

type Service = typeof TextToSpeech.Service

export interface TextToSpeechCheckOptions extends CheckOptions<TextToSpeech> {
  /** Two texts that take some seconds to speak. */
  readonly texts?: readonly [string, string]
  /** Transcribes the audio. Without it only the amount of audio is checked, not what it says. */
  readonly hear?: (samples: Int16Array, sampleRate: number) => Effect.Effect<string>
}

/** Overrides the default request: the first sample rate, the first voice, and English. */
interface Overrides {
  readonly rate?: number
  readonly voice?: string
  readonly language?: string
}

/** A sink that records what is written. `room` decides after each write whether it has room. */
const recorder = (room: () => boolean, drained: Effect.Effect<void>) => {
  const chunks: Array<Int16Array> = []
  const aligned: Array<readonly [characters: number, atSample: number]> = []
  const state = { writes: 0 }
  const sink: AudioSink = {
    write: (samples) => {
      state.writes++
      chunks.push(samples.slice())
      return room()
    },
    align: (characters, atSample) => {
      aligned.push([characters, atSample])
    },
    drained
  }
  return { sink, chunks, aligned, writes: () => state.writes, length: () => chunks.reduce((n, c) => n + c.length, 0) }
}
type Recorder = ReturnType<typeof recorder>

const unbounded = () => recorder(() => true, Effect.void)

const joined = ({ chunks, length }: Recorder): Int16Array => {
  const all = new Int16Array(length())
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/** The requirements on a text-to-speech provider. */
export const textToSpeechChecks = (options: TextToSpeechCheckOptions): ReadonlyArray<Check> => {
  const harness = makeHarness(TextToSpeech, options)
  const { check, eventually, fault, mustFail, quiet, within } = harness
  const [first, second] = options.texts ?? ["The quick brown fox jumps over the lazy dog.", "Pack my box with jugs."]

  const rateOf = (service: Service) => service.sampleRates[0] ?? 8000
  let turns = 0
  const requestOf = (service: Service, to: Recorder, more: Overrides = {}) => ({
    callId: "call_conformance",
    turn: `turn_${turns++}`,
    voice: more.voice ?? service.voices[0]?.name ?? "Sarah",
    language: more.language ?? "en-US",
    sampleRate: more.rate ?? rateOf(service),
    speed: 1,
    sink: to.sink
  })
  const speak = (service: Service, text: string, to: Recorder, more: Overrides = {}) =>
    Effect.suspend(() => speakText(service, { ...requestOf(service, to, more), text }))
  const spoken = (service: Service, text: string, to: Recorder, more: Overrides = {}) =>
    within("the turn", speak(service, text, to, more)).pipe(mustSucceed("the turn"))

  /** Fails unless the audio says the text or, without `hear`, unless there is audio. */
  const says = (recording: Recorder, rate: number, text: string) =>
    Effect.gen(function* () {
      yield* must(recording.length() > 0, `no audio was written for "${text}"`)
      if (options.hear === undefined) return
      const heard = normalized(yield* options.hear(joined(recording), rate))
      yield* must(heard === normalized(text), `the audio for "${normalized(text)}" says "${heard}"`)
    })

  /** With a faulty peer: a typed error in time, and no write afterwards. */
  const failsTyped = (service: Service) =>
    Effect.gen(function* () {
      const recording = unbounded()
      yield* mustFail("the turn", speak(service, first, recording), (error) => error instanceof TextToSpeechError)
      const count = recording.writes()
      yield* quiet
      yield* must(recording.writes() === count, "it wrote audio after it had failed")
    })

  return [
    check("declares voices with distinct names and at least one sample rate, and is healthy", (service) =>
      Effect.gen(function* () {
        const names = service.voices.map(({ name }) => name)
        yield* must(names.length > 0, "it declares no voice")
        yield* must(new Set(names).size === names.length, "two of its voices have the same name")
        yield* must(service.sampleRates.length > 0, "it declares no sample rate")
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("a turn speaks a text in about the same time at every declared sample rate", (service) =>
      Effect.gen(function* () {
        const seconds: Array<number> = []
        for (const rate of service.sampleRates) {
          const recording = unbounded()
          yield* spoken(service, first, recording, { rate })
          yield* says(recording, rate, first)
          seconds.push(recording.length() / rate)
        }
        const [shortest, longest] = [Math.min(...seconds), Math.max(...seconds)]
        yield* must(longest <= shortest * 1.5, `the same text takes between ${shortest} s and ${longest} s`)
      })
    ),
    check("a turn writes audio with each of the first five voices", (service) =>
      Effect.forEach(service.voices.slice(0, 5), ({ languages, name }) =>
        Effect.gen(function* () {
          const recording = unbounded()
          yield* spoken(service, second, recording, {
            voice: name,
            language: languages === "*" ? "en-US" : (languages[0] ?? "en-US")
          })
          yield* must(recording.length() > 0, `the voice ${name} wrote no audio`)
        })
      )
    ),
    check("a turn writes all audio before it completes, and nothing afterwards", (service) =>
      Effect.gen(function* () {
        const recording = unbounded()
        yield* spoken(service, first, recording)
        const count = recording.writes()
        yield* says(recording, rateOf(service), first)
        yield* quiet
        yield* must(recording.writes() === count, "it wrote audio after it had completed")
      })
    ),
    check("a turn completes for an empty text", (service) => spoken(service, "", unbounded())),
    check("a turn aligns in ascending order, within its text and its audio", (service) =>
      Effect.gen(function* () {
        const recording = unbounded()
        yield* spoken(service, first, recording)
        let last: readonly [characters: number, atSample: number] = [0, 0]
        for (const aligned of recording.aligned) {
          const [characters, atSample] = aligned
          yield* must(
            characters >= last[0] && atSample >= last[1],
            `it called align with ${characters} at ${atSample} after ${last[0]} at ${last[1]}`
          )
          yield* must(
            characters <= first.length,
            `it called align with ${characters} for a text of ${first.length} characters`
          )
          yield* must(
            atSample <= recording.length(),
            `it called align at sample ${atSample} of ${recording.length()} samples`
          )
          last = aligned
        }
      })
    ),
    check("a turn speaks its texts one after the other, and completes only when it is ended", (service) =>
      Effect.gen(function* () {
        const recording = unbounded()
        const turn = yield* within("open", service.open(requestOf(service, recording))).pipe(mustSucceed("open"))
        const done = yield* Effect.fork(turn.done)
        turn.say(first)
        yield* eventually("the first audio", () => recording.writes() > 0 || done.unsafePoll() !== null)
        yield* quiet
        yield* must(done.unsafePoll() === null, "it was done before it was ended")
        turn.say(` ${second}`)
        turn.end()
        yield* within("the turn", Fiber.join(done)).pipe(mustSucceed("the turn"))
        yield* says(recording, rateOf(service), `${first} ${second}`)
      })
    ),
    check("a turn without text completes when it is ended, and writes nothing", (service) =>
      Effect.gen(function* () {
        const recording = unbounded()
        const turn = yield* within("open", service.open(requestOf(service, recording))).pipe(mustSucceed("open"))
        turn.end()
        yield* within("the turn", turn.done).pipe(mustSucceed("the turn"))
        yield* must(recording.length() === 0, `it wrote ${recording.length()} samples`)
      })
    ),
    check("a turn does not write while the sink is full, and continues when it has room", (service) =>
      Effect.gen(function* () {
        const whole = unbounded()
        yield* spoken(service, first, whole)
        let waiting = yield* Deferred.make<void>()
        const recording = recorder(
          () => false,
          Effect.suspend(() => Deferred.await(waiting))
        )
        const fiber = yield* Effect.fork(speak(service, first, recording))
        for (let round = 0; round < 3; round++) {
          const before = recording.writes()
          yield* eventually("a write or completion", () => recording.writes() > before || fiber.unsafePoll() !== null)
          yield* quiet
          yield* must(
            recording.writes() <= before + 1,
            `it wrote ${recording.writes() - before} times while the sink was full`
          )
          yield* Deferred.succeed(waiting, undefined)
          waiting = yield* Deferred.make<void>()
        }
        const open = Effect.forever(
          Effect.suspend(() => Effect.zipRight(Deferred.succeed(waiting, undefined), Effect.sleep(1)))
        )
        yield* within("the turn into a slow sink", Effect.raceFirst(Fiber.join(fiber), open)).pipe(
          mustSucceed("the turn")
        )
        yield* must(
          recording.length() >= whole.length() * 0.9,
          `only ${recording.length()} of ${whole.length()} samples were written to a slow sink`
        )
      })
    ),
    check("a turn stops when it is cancelled and writes nothing afterwards", (service) =>
      Effect.gen(function* () {
        const recording = unbounded()
        const fiber = yield* Effect.forkDaemon(speak(service, `${first} ${second} `.repeat(10), recording))
        yield* eventually("the first audio", () => recording.writes() > 0)
        yield* mustStop(harness, fiber, () => recording.writes())
      })
    ),
    check("a turn can be cancelled while the sink is full", (service) =>
      Effect.gen(function* () {
        const recording = recorder(() => false, Effect.never)
        const fiber = yield* Effect.forkDaemon(speak(service, first, recording))
        yield* eventually("the first audio", () => recording.writes() > 0)
        yield* quiet
        yield* mustStop(harness, fiber, () => recording.writes())
      })
    ),
    check("two concurrent turns stay separate", (service) =>
      Effect.gen(function* () {
        const [left, right] = [unbounded(), unbounded()]
        yield* Effect.all([spoken(service, first, left), spoken(service, second, right)], { concurrency: 2 })
        yield* says(left, rateOf(service), first)
        yield* says(right, rateOf(service), second)
      })
    ),
    check("a turn speaks or fails with TextToSpeechError for an unknown voice", (service) =>
      Effect.gen(function* () {
        const outcome = yield* Effect.either(
          within("the turn", speak(service, first, unbounded(), { voice: "no such voice" }))
        )
        if (outcome._tag === "Right") return
        if (outcome.left instanceof CheckFailed) return yield* outcome.left
        yield* must(outcome.left instanceof TextToSpeechError, `the turn failed with ${outcome.left}`)
      })
    ),
    check("many cancelled turns leave no fibers, timers or sockets behind", (service) =>
      mustNotLeak(
        harness,
        options,
        Effect.gen(function* () {
          const recording = recorder(() => false, Effect.never)
          const fiber = yield* Effect.forkDaemon(speak(service, second, recording))
          yield* eventually("the first audio", () => recording.writes() > 0 || fiber.unsafePoll() !== null)
          yield* within("cancelling the turn", Fiber.interrupt(fiber))
        })
      )
    ),
    ...fault(options.faults?.refuses, "a turn fails with TextToSpeechError when the peer refuses", failsTyped),
    ...fault(options.faults?.hangs, "a turn can be cancelled when the peer hangs", (service) =>
      Effect.gen(function* () {
        const recording = unbounded()
        const fiber = yield* Effect.forkDaemon(speak(service, first, recording))
        yield* quiet
        yield* mustStop(harness, fiber, () => recording.writes())
      })
    ),
    ...fault(
      options.faults?.closesEarly,
      "a turn fails with TextToSpeechError when the peer closes the connection early",
      failsTyped
    ),
    ...fault(
      options.faults?.sendsGarbage,
      "a turn fails with TextToSpeechError when the peer sends malformed data",
      failsTyped
    )
  ]
}
