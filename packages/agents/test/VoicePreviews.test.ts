import { describe, expect, it } from "@effect/vitest"
import { languages } from "@svc/api/agents/Language"
import { Providers } from "@svc/providers/Providers"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import { TextToSpeechError, type Voice } from "@svc/providers/TextToSpeech"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Logger, Scope, TestClock } from "effect"
import { VoicePreviews } from "../src/VoicePreviews.ts"
import { Voices } from "../src/Voices.ts"

type Synthesize = (request: TextRequest) => Effect.Effect<void, TextToSpeechError>

const plugin = (
  id: string,
  voices: ReadonlyArray<Voice>,
  synthesize: Synthesize,
  sampleRates = [8000, 24_000, 48_000]
) => ({
  id,
  voices,
  sampleRates,
  health: Effect.die("not asked"),
  open: byText(synthesize)
})

const previewsOf = (...plugins: ReadonlyArray<ReturnType<typeof plugin>>) =>
  VoicePreviews.layer.pipe(
    Layer.provide(Voices.layer),
    Layer.provide(
      Layer.succeed(Providers, {
        plugins: [],
        telephony: [],
        speechToText: [],
        textToSpeech: plugins,
        languageModel: [],
        voiceActivity: undefined,
        objectStore: undefined,
        embedding: undefined
      })
    ),
    Layer.provide(Logger.remove(Logger.defaultLogger))
  )

const everywhere = (...names: ReadonlyArray<string>) =>
  names.map((name): Voice => ({ name, languages: "*", gender: "neutral" }))

/** Samples of a sound of this length in seconds. */
const sound = (request: TextRequest, seconds = 0.5) => {
  const samples = new Int16Array(request.sampleRate * seconds)
  samples.fill(1000)
  request.sink.write(samples)
}

/** A plugin that records its requests. Each synthesis waits for `go`, which by default does not wait. */
const counting = (go: Effect.Effect<void> = Effect.void) => {
  const asked: Array<TextRequest> = []
  const seen = { now: 0, most: 0 }
  const synthesize: Synthesize = (request) =>
    Effect.gen(function* () {
      asked.push(request)
      seen.now++
      seen.most = Math.max(seen.most, seen.now)
      yield* go
      sound(request)
    }).pipe(Effect.ensuring(Effect.sync(() => seen.now--)))
  return { asked, seen, synthesize }
}

const get = (voice: string, language?: (typeof languages)[number]) =>
  Effect.flatMap(VoicePreviews, (previews) => previews.get(voice, language))

const codeOf = (voice: string, language?: (typeof languages)[number]) =>
  Effect.map(Effect.either(get(voice, language)), (result) => (result._tag === "Left" ? result.left.code : "heard"))

/** Lets all fibers run until they wait. */
const settled = TestClock.adjust(Duration.millis(1))

const failing = (reason: string, retryable = true) => Effect.fail(new TextToSpeechError({ reason, retryable }))

describe("A voice's preview", () => {
  it.effect("is a WAV file of the plugin's speech, at the best useful sample rate", () => {
    const { asked, synthesize } = counting()
    return Effect.gen(function* () {
      const { bytes, etag } = yield* get("Sarah", "nl-NL")
      const file = Buffer.from(bytes)
      expect(file.toString("latin1", 0, 4)).toBe("RIFF")
      expect(file.readUInt32LE(4)).toBe(file.length - 8)
      expect(file.toString("latin1", 8, 16)).toBe("WAVEfmt ")
      // PCM, mono, 24 kHz, 48,000 bytes a second, 2 bytes a sample, 16 bits.
      expect([20, 22, 32, 34].map((at) => file.readUInt16LE(at))).toEqual([1, 1, 2, 16])
      expect([24, 28].map((at) => file.readUInt32LE(at))).toEqual([24_000, 48_000])
      expect(file.toString("latin1", 36, 40)).toBe("data")
      expect(file.readUInt32LE(40)).toBe(24_000)
      expect([44, file.length - 2].map((at) => file.readInt16LE(at))).toEqual([1000, 1000])
      expect(etag).toMatch(/^"[\w-]{27}"$/)
      expect(asked).toMatchObject([{ voice: "Sarah", language: "nl-NL", sampleRate: 24_000 }])
      expect(asked[0]?.text).toMatch(/Hallo/)
    }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
  })

  it.effect("has a sentence of its own in each language", () => {
    const { asked, synthesize } = counting()
    return Effect.gen(function* () {
      for (const language of languages) yield* get("Sarah", language)
      const texts = asked.map(({ text }) => text)
      expect(new Set(texts).size).toBe(languages.length)
      for (const text of texts) expect(text.length).toBeLessThan(90)
    }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
  })

  it.effect("is in the first language of the voice when the request has none", () => {
    const { asked, synthesize } = counting()
    const voices: ReadonlyArray<Voice> = [{ name: "Ana", languages: ["pt-BR", "pt-PT", "es-ES"], gender: "female" }]
    return Effect.gen(function* () {
      yield* get("Ana")
      yield* get("Sarah")
      expect(asked.map(({ language, voice }) => [voice, language])).toEqual([
        ["Ana", "pt-PT"],
        ["Sarah", "en-US"]
      ])
    }).pipe(Effect.provide(previewsOf(plugin("tin", voices, synthesize))))
  })

  it.effect("comes from the plugin that a call would use", () => {
    const [first, second] = [counting(), counting()]
    const dutch: Voice = { name: "Jan", languages: ["nl-NL"], gender: "male" }
    const german: Voice = { name: "Jan", languages: ["de-DE", "nl-NL"], gender: "male" }
    return Effect.gen(function* () {
      yield* get("Jan", "nl-NL")
      yield* get("Jan", "de-DE")
      // No plugin lists Sarah: the preferred one is used.
      yield* get("Sarah", "fi-FI")
      expect(first.asked.map(({ language }) => language)).toEqual(["nl-NL", "fi-FI"])
      expect(second.asked.map(({ language }) => language)).toEqual(["de-DE"])
    }).pipe(
      Effect.provide(
        previewsOf(plugin("first", [dutch], first.synthesize), plugin("second", [german], second.synthesize))
      )
    )
  })

  it.effect("is synthesized once for many concurrent and later requests", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const { asked, synthesize } = counting(Deferred.await(go))
      yield* Effect.gen(function* () {
        const fifty = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 50 }, () => get("Sarah", "it-IT")),
            { concurrency: "unbounded" }
          )
        )
        yield* settled
        yield* Deferred.succeed(go, undefined)
        const all = yield* Fiber.join(fifty)
        expect(new Set(all.map(({ bytes }) => bytes)).size).toBe(1)
        expect(yield* get("Sarah", "it-IT")).toBe(all[0])
        expect(asked).toHaveLength(1)
      }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
    })
  )

  it.effect("is completed for waiting requests when the first one is interrupted", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const { asked, synthesize } = counting(Deferred.await(go))
      yield* Effect.gen(function* () {
        const first = yield* Effect.fork(get("Sarah", "it-IT"))
        yield* settled
        const second = yield* Effect.fork(get("Sarah", "it-IT"))
        yield* settled
        yield* Fiber.interrupt(first)
        yield* Deferred.succeed(go, undefined)
        expect((yield* Fiber.join(second)).bytes.length).toBeGreaterThan(44)
        expect(asked).toHaveLength(1)
      }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
    })
  )

  it.effect("is correct when the plugin reuses its sample array", () => {
    const synthesize: Synthesize = ({ sink }) =>
      Effect.sync(() => {
        const samples = new Int16Array(4)
        for (const value of [100, 200, 300]) {
          samples.fill(value)
          sink.write(samples)
        }
      })
    return Effect.gen(function* () {
      const file = Buffer.from((yield* get("Sarah")).bytes)
      expect([44, 52, 60].map((at) => file.readInt16LE(at))).toEqual([100, 200, 300])
    }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
  })

  it.effect("is the same for a name in other case, which the plugin gets as it writes it", () => {
    const { asked, synthesize } = counting()
    return Effect.gen(function* () {
      const made = yield* get("jAN", "nl-NL")
      expect(yield* get("Jan", "nl-NL")).toBe(made)
      expect(asked).toEqual([expect.objectContaining({ voice: "Jan" })])
    }).pipe(
      Effect.provide(previewsOf(plugin("tin", [{ name: "Jan", languages: ["nl-NL"], gender: "male" }], synthesize)))
    )
  })

  it.effect("is refused for an unknown voice, for a language that it does not speak, and without a plugin", () => {
    const { asked, synthesize } = counting()
    const dutch: Voice = { name: "Jan", languages: ["nl-NL", "ja-JP"], gender: "male" }
    return Effect.gen(function* () {
      for (const name of ["", "Nobody", "__proto__", "../Sarah"]) {
        expect(yield* codeOf(name, "nl-NL")).toBe("VOICE_NOT_FOUND")
        expect(yield* codeOf(name)).toBe("VOICE_NOT_FOUND")
      }
      const error = yield* Effect.flip(get("Jan", "de-DE"))
      expect(error).toMatchObject({
        code: "VALIDATION_ERROR",
        details: { language: "voice not available for the selected language" }
      })
      expect(asked).toEqual([])
      expect(yield* Effect.provide(codeOf("Sarah"), previewsOf())).toBe("UNAVAILABLE")
    }).pipe(Effect.provide(previewsOf(plugin("tin", [dutch], synthesize))))
  })

  const faults: ReadonlyArray<readonly [fault: string, synthesize: Synthesize]> = [
    ["fails", () => failing("out of voices")],
    [
      "throws",
      () => {
        throw new Error("secret")
      }
    ],
    ["crashes", () => Effect.die(new Error("secret"))],
    ["interrupts itself", () => Effect.interrupt],
    ["says nothing", () => Effect.void],
    ["writes silence", ({ sink }) => Effect.sync(() => void sink.write(new Int16Array(8000)))],
    [
      "never stops",
      ({ sampleRate, sink }) =>
        Effect.forever(
          Effect.zipRight(
            Effect.sync(() => sink.write(new Int16Array(sampleRate).fill(1000))),
            Effect.yieldNow()
          )
        )
    ],
    [
      "waits for room that never comes",
      (request) =>
        Effect.zipRight(
          Effect.sync(() => sound(request, 16)),
          request.sink.drained
        )
    ]
  ]
  it.effect.each(faults)(
    "of a plugin that %s is unavailable, and succeeds when the plugin works again",
    ([, fault]) => {
      let broken = true
      const synthesize: Synthesize = (request) => (broken ? fault(request) : Effect.sync(() => sound(request)))
      return Effect.gen(function* () {
        const error = yield* Effect.flip(get("Sarah"))
        expect(error).toMatchObject({
          code: "UNAVAILABLE",
          status: 503,
          message: "The voice could not speak its preview"
        })
        broken = false
        expect(yield* codeOf("Sarah")).toBe("heard")
      }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
    }
  )

  it.effect.each([
    ["hangs", Effect.never],
    ["hangs and cannot be interrupted", Effect.uninterruptible(Effect.never)]
  ] as const)("of a plugin that %s is unavailable after 15 s, and does not delay other previews", ([, hang]) => {
    let broken = true
    const synthesize: Synthesize = (request) => (broken ? hang : Effect.sync(() => sound(request)))
    return Effect.gen(function* () {
      const waiting = yield* Effect.fork(
        Effect.all([codeOf("Sarah", "en-US"), codeOf("Sarah", "en-GB")], { concurrency: 2 })
      )
      yield* TestClock.adjust(Duration.seconds(15))
      expect(yield* Fiber.join(waiting)).toEqual(["UNAVAILABLE", "UNAVAILABLE"])
      broken = false
      expect(yield* codeOf("Sarah", "en-US")).toBe("heard")
    }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Sarah"), synthesize))))
  })

  it.effect("in progress is interrupted when the server stops", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        previewsOf(plugin("tin", everywhere("Sarah"), () => Effect.never)),
        scope
      )
      const waiting = yield* Effect.fork(Effect.provide(get("Sarah"), context))
      yield* settled
      yield* Scope.close(scope, Exit.void)
      expect(Exit.isInterrupted(yield* Fiber.await(waiting))).toBe(true)
    })
  )
})

describe("An anonymous client that requests all previews", () => {
  const five = everywhere("Sarah", "Ada", "Bea", "Cas", "Dan")
  const all = five.flatMap(({ name }) => languages.map((language) => [name, language] as const))

  it.effect("causes two concurrent syntheses at most, and gets Unavailable when too many previews wait", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const { asked, seen, synthesize } = counting(Deferred.await(go))
      yield* Effect.gen(function* () {
        const waiting = yield* Effect.fork(
          Effect.forEach(all.slice(0, 40), ([voice, language]) => codeOf(voice, language), { concurrency: "unbounded" })
        )
        yield* settled
        yield* Deferred.succeed(go, undefined)
        const codes = yield* Fiber.join(waiting)
        expect(codes.filter((code) => code === "heard")).toHaveLength(32)
        expect(codes.filter((code) => code === "UNAVAILABLE")).toHaveLength(8)
        expect(asked).toHaveLength(32)
        expect(seen.most).toBe(2)
      }).pipe(Effect.provide(previewsOf(plugin("tin", five, synthesize))))
    })
  )

  it.effect("gets 60 new previews a minute, then a retry time; cached previews are still served", () => {
    const { asked, synthesize } = counting()
    return Effect.gen(function* () {
      const codes = yield* Effect.forEach(all, ([voice, language]) => codeOf(voice, language))
      expect(codes.map((code) => code === "heard")).toEqual(all.map((_, index) => index < 60))
      yield* TestClock.adjust(Duration.seconds(20))
      const error = yield* Effect.flip(get("Dan", "fi-FI"))
      expect(error).toMatchObject({ code: "UNAVAILABLE", status: 503, retryAfter: 40 })
      expect(yield* codeOf("Sarah", "en-US")).toBe("heard")
      yield* TestClock.adjust(Duration.seconds(40))
      expect(yield* codeOf("Dan", "fi-FI")).toBe("heard")
      expect(asked).toHaveLength(61)
    }).pipe(Effect.provide(previewsOf(plugin("tin", five, synthesize))))
  })

  it.effect("fills at most 32 MB of cache: the least recently used preview is evicted", () => {
    const asked: Array<string> = []
    const synthesize: Synthesize = (request) =>
      Effect.sync(() => {
        asked.push(`${request.voice} ${request.language}`)
        sound(request, 15)
      })
    return Effect.gen(function* () {
      // Each is 720,044 bytes, so 46 fit.
      const [first, second, ...others] = all.slice(0, 47)
      yield* get(...(first ?? ["", "en-US"]))
      yield* get(...(second ?? ["", "en-US"]))
      yield* get(...(first ?? ["", "en-US"]))
      yield* Effect.forEach(others, ([voice, language]) => get(voice, language))
      expect(asked).toHaveLength(47)
      yield* get(...(first ?? ["", "en-US"]))
      expect(asked).toHaveLength(47)
      yield* get(...(second ?? ["", "en-US"]))
      expect(asked.slice(47)).toEqual(["Sarah en-GB"])
    }).pipe(Effect.provide(previewsOf(plugin("tin", five, synthesize))))
  })

  it.effect("does not reach a plugin that failed three times within a minute until that minute is over", () => {
    let asked = 0
    const ill: Synthesize = () =>
      Effect.zipRight(
        Effect.sync(() => asked++),
        failing("down")
      )
    const well = counting()
    return Effect.gen(function* () {
      for (let times = 0; times < 10; times++) expect(yield* codeOf("Ada", "en-US")).toBe("UNAVAILABLE")
      expect(asked).toBe(3)
      expect(yield* Effect.flip(get("Ada"))).toMatchObject({ retryAfter: 60 })
      expect(yield* codeOf("Bea", "en-US")).toBe("heard")
      yield* TestClock.adjust(Duration.minutes(1))
      yield* codeOf("Ada", "en-US")
      expect(asked).toBe(4)
    }).pipe(
      Effect.provide(
        previewsOf(plugin("ill", everywhere("Ada"), ill), plugin("well", everywhere("Bea"), well.synthesize))
      )
    )
  })

  it.effect("does not pause a plugin by requesting a voice that it refuses", () => {
    const synthesize: Synthesize = (request) =>
      request.voice === "Sarah" ? failing("no such voice", false) : Effect.sync(() => sound(request))
    return Effect.gen(function* () {
      for (const language of languages) expect(yield* codeOf("Sarah", language)).toBe("UNAVAILABLE")
      expect(yield* codeOf("Ada")).toBe("heard")
    }).pipe(Effect.provide(previewsOf(plugin("tin", everywhere("Ada"), synthesize))))
  })
})
