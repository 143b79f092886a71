import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import { type AudioSink, type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { ConfigProvider, type Context, Effect, Fiber, Layer, TestClock } from "effect"
import { SpeechCache, type SpeechSource } from "../../src/speech/SpeechCache.ts"

type Provider = Context.Tag.Service<TextToSpeech>

/** A second of audio that depends on the text, aligned after each half. */
const aSecond = ({ sink, text }: TextRequest): Effect.Effect<void> =>
  Effect.forEach(
    [1, 2],
    (half) =>
      Effect.suspend(() => {
        const samples = Int16Array.from({ length: 4000 }, (_, n) => ((n * text.length * half) % 20_000) - 10_000)
        const hasRoom = sink.write(samples)
        sink.align(Math.ceil((text.length * half) / 2), 4000 * half)
        return hasRoom ? Effect.void : sink.drained
      }),
    { discard: true }
  )

/** A voice that counts what it was asked for. */
const voiceOf = (
  synthesize: (request: TextRequest) => Effect.Effect<void, TextToSpeechError> = aSecond,
  cacheKey: Provider["cacheKey"] | null = () => "model 1"
) => {
  const asked: Array<string> = []
  const provider: Provider = {
    id: "test",
    voices: [],
    sampleRates: [8000],
    health: Effect.succeed(healthy),
    ...(cacheKey === null ? {} : { cacheKey }),
    open: byText((request) => {
      asked.push(request.text)
      return synthesize(request)
    })
  }
  return { asked, provider }
}

const request = { callId: "call_1", turn: "u0", voice: "Sarah", language: "en-US", sampleRate: 8000, speed: 1 }

/** Speaks a text. Returns its samples, alignment and source. */
const speak = (provider: Provider, text = "Hello there.", change: Partial<typeof request> = {}) =>
  Effect.gen(function* () {
    const cache = yield* SpeechCache
    const samples: Array<number> = []
    const marks: Array<readonly [number, number]> = []
    let source: SpeechSource | undefined
    let full = false
    const sink: AudioSink = {
      write: (written) => {
        expect(full).toBe(false)
        for (const sample of written) samples.push(sample)
        full = true
        return false
      },
      align: (characters, atSample) => void marks.push([characters, atSample]),
      drained: Effect.sync(() => {
        full = false
      })
    }
    yield* cache.speak(provider, { ...request, ...change, text, sink }, (from) => {
      source = from
    })
    return { samples, marks, source }
  })

const withFolder = <A, E>(use: (folder: string) => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.promise(() => fs.mkdtemp(path.join(os.tmpdir(), "svc-speech-"))),
    use,
    (folder) => Effect.promise(() => fs.rm(folder, { recursive: true, force: true }))
  )

/** Runs with a cache of its own in the data directory, as a new process would. */
const started = <A, E>(folder: string, effect: Effect.Effect<A, E, SpeechCache>, megabytes = 256) =>
  effect.pipe(
    Effect.zipLeft(Effect.yieldNow()),
    Effect.provide(Layer.fresh(SpeechCache.layer)),
    Effect.withConfigProvider(
      ConfigProvider.fromMap(
        new Map([
          ["SVC_DATA_DIR", folder],
          ["SVC_SPEECH_CACHE_MB", `${megabytes}`]
        ])
      )
    )
  )

const filesIn = (folder: string) =>
  Effect.promise(async () => (await fs.readdir(path.join(folder, "speech-cache")).catch(() => [])).sort())

/** The files, once there are so many. */
const filesOnce = (folder: string, count: number): Effect.Effect<ReadonlyArray<string>> =>
  Effect.flatMap(filesIn(folder), (files) =>
    files.filter((name) => !name.endsWith(".tmp")).length >= count
      ? Effect.succeed(files)
      : Effect.zipRight(
          Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))),
          Effect.suspend(() => filesOnce(folder, count))
        )
  )

describe("SpeechCache", () => {
  it.effect("synthesizes a text once: audio and alignment are the same the second time", () =>
    Effect.gen(function* () {
      const { asked, provider } = voiceOf()
      const first = yield* speak(provider)
      const second = yield* speak(provider)
      expect([first.source, second.source]).toEqual(["synthesis", "cache"])
      expect(second.samples).toEqual(first.samples)
      expect(second.marks).toEqual([
        [6, 4000],
        [12, 8000]
      ])
      expect(asked).toEqual(["Hello there."])
    }).pipe(Effect.provide(SpeechCache.layerMemory))
  )

  it.effect("keeps texts, voices, languages, speeds, sample rates and settings apart", () =>
    Effect.gen(function* () {
      let settings = "model 1"
      const { asked, provider } = voiceOf(aSecond, () => settings)
      yield* speak(provider)
      for (const change of [{ voice: "Tom" }, { language: "en-GB" }, { speed: 1.5 }, { sampleRate: 16_000 }])
        expect((yield* speak(provider, "Hello there.", change)).source).toBe("synthesis")
      expect((yield* speak(provider, "Hello.")).source).toBe("synthesis")
      settings = "model 2"
      expect((yield* speak(provider)).source).toBe("synthesis")
      expect((yield* speak(provider, "Hello there.", { callId: "call_2" })).source).toBe("cache")
      expect(asked).toHaveLength(7)
    }).pipe(Effect.provide(SpeechCache.layerMemory))
  )

  it.effect("keeps nothing of a call whose voice does not allow it, nor very long texts", () =>
    Effect.gen(function* () {
      const never = voiceOf(aSecond, () => undefined)
      for (let n = 0; n < 2; n++) expect((yield* speak(never.provider)).source).toBe("synthesis")
      const { provider } = voiceOf()
      for (let n = 0; n < 2; n++) expect((yield* speak(provider, "x".repeat(2000))).source).toBe("synthesis")
    }).pipe(Effect.provide(SpeechCache.layerMemory))
  )

  it.effect("keeps nothing of a synthesis that failed, was empty or never ended", () =>
    Effect.gen(function* () {
      let answers: ReadonlyArray<(r: TextRequest) => Effect.Effect<void, TextToSpeechError>> = [
        ({ sink }) =>
          Effect.zipRight(
            Effect.sync(() => sink.write(new Int16Array(800))),
            new TextToSpeechError({ reason: "no credit", retryable: false })
          ),
        () => Effect.void,
        ({ sink }) =>
          Effect.forever(
            Effect.zipRight(
              Effect.sync(() => sink.write(new Int16Array(80_000))),
              Effect.yieldNow()
            )
          ),
        aSecond
      ]
      const { asked, provider } = voiceOf((r) => {
        const [answer = aSecond, ...rest] = answers
        answers = rest
        return answer(r)
      })
      expect((yield* Effect.flip(speak(provider))).reason).toBe("no credit")
      expect((yield* speak(provider)).samples).toEqual([])
      expect((yield* Effect.flip(speak(provider))).reason).toContain("more than 180 s")
      expect((yield* speak(provider)).source).toBe("synthesis")
      expect((yield* speak(provider)).source).toBe("cache")
      expect(asked).toHaveLength(4)
    }).pipe(Effect.provide(SpeechCache.layerMemory))
  )

  it.effect("a text that is being synthesized is heard by all who ask for it, while it grows", () =>
    Effect.gen(function* () {
      const { asked, provider } = voiceOf((r) => Effect.zipRight(Effect.sleep("300 millis"), aSecond(r)))
      const one = yield* Effect.fork(speak(provider))
      const other = yield* Effect.fork(speak(provider))
      yield* Effect.yieldNow()
      // A caller who goes away does not end it for the other.
      yield* Fiber.interrupt(one)
      yield* TestClock.adjust("300 millis")
      const { samples, source } = yield* Fiber.join(other)
      expect([asked.length, samples.length, source]).toEqual([1, 8000, "cache"])
    }).pipe(Effect.provide(SpeechCache.layerMemory))
  )

  it.effect("a voice that hangs is asked again by the next who wants the text", () =>
    Effect.gen(function* () {
      let hangs = true
      const { asked, provider } = voiceOf((r) => (hangs ? Effect.never : aSecond(r)))
      const waiting = yield* Effect.fork(speak(provider))
      yield* TestClock.adjust("3 seconds")
      hangs = false
      expect((yield* speak(provider)).samples).toHaveLength(8000)
      expect(asked).toHaveLength(2)
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.provide(SpeechCache.layerMemory))
  )
})

describe("SpeechCache on disk", () => {
  it.live("survives a restart", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        const { asked, provider } = voiceOf()
        const before = yield* started(folder, Effect.zipLeft(speak(provider), filesOnce(folder, 1)))
        const after = yield* started(folder, speak(provider))
        expect(after).toEqual({ ...before, source: "cache" })
        expect(asked).toHaveLength(1)
      })
    )
  )

  it.live("ignores files that are damaged or cut short, and writes them again", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        const { asked, provider } = voiceOf()
        const { samples } = yield* started(folder, Effect.zipLeft(speak(provider), filesOnce(folder, 1)))
        const [name = ""] = yield* filesIn(folder)
        const file = path.join(folder, "speech-cache", name)
        const whole = yield* Effect.promise(() => fs.readFile(file))
        const damaged = Buffer.from(whole)
        damaged[5000] = (damaged[5000] ?? 0) ^ 1
        for (const wrong of [damaged, whole.subarray(0, 5000), whole.subarray(0, 3), Buffer.alloc(0)]) {
          yield* Effect.promise(() => fs.writeFile(file, wrong))
          const again = yield* started(
            folder,
            Effect.gen(function* () {
              const spoken = yield* speak(provider)
              let written = yield* Effect.promise(() => fs.readFile(file).catch(() => Buffer.alloc(0)))
              while (!written.equals(whole)) {
                yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
                written = yield* Effect.promise(() => fs.readFile(file).catch(() => Buffer.alloc(0)))
              }
              return spoken
            })
          )
          expect(again).toMatchObject({ samples, source: "synthesis" })
        }
        expect(asked).toHaveLength(5)
        expect((yield* started(folder, speak(provider))).source).toBe("cache")
      })
    )
  )

  it.live("removes what a process left that was killed while writing", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => fs.mkdir(path.join(folder, "speech-cache")))
        yield* Effect.promise(() => fs.writeFile(path.join(folder, "speech-cache", "abc.1.tmp"), "half"))
        yield* started(folder, SpeechCache)
        expect(yield* filesIn(folder)).toEqual([])
      })
    )
  )

  it.live("speaks although the folder cannot be used", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => fs.writeFile(path.join(folder, "speech-cache"), "no folder"))
        const { provider } = voiceOf()
        const { source } = yield* started(folder, Effect.zipRight(speak(provider), speak(provider)))
        expect(source).toBe("cache")
      })
    )
  )

  it.live("keeps no more than its limit: what was not used for the longest time goes", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        const { provider } = voiceOf(({ sink, text }) =>
          Effect.sync(() => void sink.write(new Int16Array(200_000).fill(text.length)))
        )
        yield* started(folder, Effect.zipLeft(speak(provider, "a"), filesOnce(folder, 1)), 1)
        yield* started(folder, Effect.zipLeft(speak(provider, "bb"), filesOnce(folder, 2)), 1)
        yield* started(
          folder,
          Effect.gen(function* () {
            yield* speak(provider, "a")
            yield* speak(provider, "ccc")
          }),
          1
        )
        expect((yield* filesIn(folder)).filter((name) => !name.endsWith(".tmp")).length).toBeLessThanOrEqual(2)
      })
    )
  )

  it.live(
    "keeps in memory only what a provider does not name its settings of, and nothing on disk with a limit of 0",
    () =>
      withFolder((folder) =>
        Effect.gen(function* () {
          const { provider } = voiceOf(aSecond, null)
          expect((yield* started(folder, Effect.zipRight(speak(provider), speak(provider)))).source).toBe("cache")
          yield* started(folder, speak(voiceOf().provider), 0)
          expect(yield* filesIn(folder)).toEqual([])
        })
      )
  )
})
