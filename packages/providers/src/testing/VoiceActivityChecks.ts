import { Effect } from "effect"
import { VoiceActivity, type VoiceActivityDetector } from "../VoiceActivity.ts"
import { type Check, type CheckOptions, makeHarness, must, mustNotThrow } from "./Check.ts"

export interface VoiceActivityCheckOptions extends CheckOptions<VoiceActivity> {
  /** Speech in frames of 20 ms, a second or more, which the detector must find. */
  readonly speak: (sampleRate: number) => ReadonlyArray<Int16Array>
}

const sampleRates: ReadonlyArray<number> = [8000, 16_000, 24_000]
const frameMs = 20

const silence = (sampleRate: number, frames: number): ReadonlyArray<Int16Array> =>
  Array.from({ length: frames }, () => new Int16Array(sampleRate / 50))

/** Frames that no caller sends, but a broken network does. */
const garbage = (sampleRate: number): ReadonlyArray<Int16Array> => [
  new Int16Array(sampleRate / 50).fill(32_767),
  new Int16Array(sampleRate / 50).fill(-32_768),
  Int16Array.from({ length: sampleRate / 50 }, (_, i) => ((i * 40_503) & 0xffff) - 32_768)
]

/** How far from the sound a detector may date its beginning and its end, in milliseconds. */
const startToleranceMs = 300
const endToleranceMs = 500

/** The first and the last frame that is at least a tenth as loud as the loudest one. */
const soundIn = (frames: ReadonlyArray<Int16Array>): { readonly first: number; readonly last: number } => {
  const levels = frames.map((frame) => Math.sqrt(frame.reduce((sum, sample) => sum + sample * sample, 0)))
  const least = Math.max(...levels) / 10
  return { first: levels.findIndex((level) => level >= least), last: levels.findLastIndex((level) => level >= least) }
}

/** The requirements on a voice activity detector. */
export const voiceActivityChecks = (options: VoiceActivityCheckOptions): ReadonlyArray<Check> => {
  const { check } = makeHarness(VoiceActivity, options)

  /** Pushes frames to a detector; each answer must be valid. */
  const feed = (detector: VoiceActivityDetector, frames: ReadonlyArray<Int16Array>) =>
    Effect.forEach(frames, (frame) =>
      Effect.gen(function* () {
        yield* mustNotThrow("sent", () => detector.sent?.(undefined))
        const answer = yield* mustNotThrow("push", () => detector.push(frame))
        yield* must(answer === "speech" || answer === "silence", `push returned ${String(answer)}`)
        for (const state of ["speech", "silence"] as const) {
          const lasted = yield* mustNotThrow("lasted", () => detector.lasted?.(state) ?? 0)
          yield* must(Number.isFinite(lasted) && lasted >= 0, `lasted("${state}") returned ${lasted}`)
        }
        return answer
      })
    )
  const close = (detector: VoiceActivityDetector) => mustNotThrow("close", () => detector.close?.())
  const call = (sampleRate: number) => [
    ...silence(sampleRate, 50),
    ...options.speak(sampleRate),
    ...silence(sampleRate, 100)
  ]

  return [
    check("silence is silence, and speech is found and ends, at each sample rate", (service) =>
      Effect.forEach(
        sampleRates,
        (sampleRate) =>
          Effect.gen(function* () {
            const detector = service.open(sampleRate)
            const answers = yield* feed(detector, call(sampleRate))
            yield* must(!answers.slice(0, 50).includes("speech"), `it reported speech in silence at ${sampleRate} Hz`)
            yield* must(answers.includes("speech"), `it found no speech at ${sampleRate} Hz`)
            yield* must(answers.at(-1) === "silence", `speech did not end within two seconds at ${sampleRate} Hz`)
            yield* close(detector)
          }),
        { discard: true }
      )
    ),
    check("lasted tells no longer than the call, and the length of silence after speech", (service) =>
      Effect.gen(function* () {
        const detector = service.open(8000)
        const { lasted } = detector
        if (lasted === undefined) return
        const frames = call(8000)
        yield* feed(detector, frames)
        const quiet = detector.lasted?.("silence") ?? 0
        yield* must(quiet <= frames.length * frameMs, `lasted("silence") is ${quiet} ms, longer than the call`)
        // A detector dates the end of speech to some frames before or after the last sound.
        yield* must(Math.abs(quiet - 2000) <= 500, `lasted("silence") is ${quiet} ms after two seconds of silence`)
        yield* close(detector)
      })
    ),
    check("a detector that decides with a delay dates speech and silence with lasted", (service) =>
      Effect.gen(function* () {
        const detector = service.open(8000)
        const frames = call(8000)
        const sound = soundIn(frames)
        const changes: Array<{ readonly to: string; readonly at: number }> = []
        let state = "silence"
        for (const [index, frame] of frames.entries()) {
          const [answer = "silence"] = yield* feed(detector, [frame])
          if (answer === state) continue
          state = answer
          changes.push({ to: answer, at: (index + 1) * frameMs - (detector.lasted?.(answer) ?? 0) })
        }
        yield* close(detector)
        const began = changes.find(({ to }) => to === "speech")?.at ?? Number.NaN
        const ended = changes.findLast(({ to }) => to === "silence")?.at ?? Number.NaN
        const [first, last] = [sound.first * frameMs, (sound.last + 1) * frameMs]
        yield* must(
          Math.abs(began - first) <= startToleranceMs,
          `it dated the beginning of speech at ${first} ms to ${began} ms`
        )
        yield* must(Math.abs(ended - last) <= endToleranceMs, `it dated the end of speech at ${last} ms to ${ended} ms`)
      })
    ),
    check("push and sent take any samples, and do not change them", (service) =>
      Effect.gen(function* () {
        for (const sampleRate of sampleRates) {
          const detector = service.open(sampleRate)
          for (const frame of garbage(sampleRate)) {
            const copy = frame.slice()
            yield* mustNotThrow("sent", () => detector.sent?.(frame))
            yield* mustNotThrow("push", () => detector.push(frame))
            yield* must(
              frame.every((sample, i) => sample === copy[i]),
              "it changed the samples of a frame"
            )
          }
          yield* feed(detector, garbage(sampleRate))
          yield* close(detector)
        }
      })
    ),
    check("detectors of different calls, and of calls one after the other, do not affect each other", (service) =>
      Effect.gen(function* () {
        const frames = call(8000)
        const first = service.open(8000)
        const wanted = yield* feed(first, frames)
        yield* close(first)
        const [second, other] = [service.open(8000), service.open(8000)]
        const answers = yield* Effect.forEach(frames, (frame, i) =>
          Effect.zipRight(feed(other, [garbage(8000)[i % 3] ?? frame]), feed(second, [frame]))
        )
        yield* must(answers.flat().join() === wanted.join(), "it decided differently for the same audio")
        yield* close(second)
        yield* close(other)
      })
    ),
    check("a thousand calls can be opened and closed", (service) =>
      Effect.forEach(
        Array.from({ length: options.sessions ?? 1000 }),
        () =>
          Effect.gen(function* () {
            const detector = service.open(8000)
            yield* feed(detector, silence(8000, 1))
            yield* close(detector)
          }),
        { discard: true }
      )
    )
  ]
}
