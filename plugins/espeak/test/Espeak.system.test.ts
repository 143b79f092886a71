import { createHash } from "node:crypto"
import { describe, expect, it, layer } from "@effect/vitest"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect, Fiber, Layer } from "effect"
import * as EspeakTextToSpeech from "../src/EspeakTextToSpeech.ts"
import { WavStream } from "../src/WavStream.ts"
import { wordTimes } from "../src/WordTimes.ts"
import { fakeProgram, isRunning, keepsInput, speaksTone } from "./FakeProgram.ts"
import { isInstalled, layerOf, pitchOf, spoken } from "./Spoken.ts"

const sentences = {
  "en-US": "The shop opens at nine in the morning.",
  "en-GB": "The shop opens at nine in the morning.",
  "es-ES": "La tienda abre a las nueve de la mañana.",
  "nl-NL": "De winkel gaat om negen uur open.",
  "de-DE": "Das Geschäft öffnet um neun Uhr.",
  "fr-FR": "Le magasin ouvre à neuf heures.",
  "it-IT": "Il negozio apre alle nove di mattina.",
  "pt-PT": "A loja abre às nove da manhã.",
  "pl-PL": "Sklep otwiera się o dziewiątej rano.",
  "sv-SE": "Affären öppnar klockan nio på morgonen.",
  "da-DK": "Butikken åbner klokken ni om morgenen.",
  "nb-NO": "Butikken åpner klokken ni om morgenen.",
  "fi-FI": "Kauppa avataan aamulla kello yhdeksän."
}

describe.runIf(isInstalled)("the real program", () => {
  layer(layerOf("espeak-ng"))((it) => {
    it.effect("speaks each language with two female and two male voices, which differ, and Sarah", () =>
      Effect.gen(function* () {
        const { voices } = yield* TextToSpeech
        expect(voices).toHaveLength(1 + 4 * 13)
        expect(voices[0]).toEqual({ name: "Sarah", languages: "*", gender: "female" })
        for (const [language, text] of Object.entries(sentences)) {
          const own = voices.filter(({ languages }) => languages.includes(language))
          expect(own.map(({ gender }) => gender).sort()).toEqual(["female", "female", "male", "male"])
          const heard = yield* Effect.forEach(own, ({ name }) => spoken(text, { voice: name, language }))
          for (const { samples } of heard) {
            expect(samples.length / 22_050).toBeGreaterThan(1.2)
            expect(samples.length / 22_050).toBeLessThan(5)
          }
          const digest = (samples: Int16Array) => createHash("sha256").update(samples).digest("hex")
          expect(new Set(heard.map(({ samples }) => digest(samples))).size, language).toBe(4)
          const pitchIn = (name: string) =>
            pitchOf(heard[own.findIndex((voice) => voice.name === name)]?.samples ?? new Int16Array(0))
          const female = pitchIn(`espeak-${language}-female`)
          const male = pitchIn(`espeak-${language}-male`)
          expect(female, language).toBeGreaterThan(140)
          expect(male, language).toBeLessThan(140)
          const sarah = yield* spoken(text, { language })
          expect(pitchOf(sarah.samples), language).toBe(female)
        }
      })
    )

    it.effect("refuses voices that it does not have, which the program would replace silently", () =>
      Effect.gen(function* () {
        for (const voice of ["espeak-en-US-female-3", "en-us", "gmw/en-US+zzz", "espeak-de-DE-male", "", "--help"]) {
          const error = yield* Effect.flip(spoken("Hello", { voice }))
          expect(error).toMatchObject({ _tag: "TextToSpeechError", retryable: false })
          expect(error.reason).toContain(voice)
        }
        const error = yield* Effect.flip(spoken("Hello", { language: "xx-XX" }))
        expect(error.reason).toBe('the language "xx-XX" is not supported')
      })
    )

    it.effect("speaks at half and double speed", () =>
      Effect.gen(function* () {
        const lengthAt = (speed: number) =>
          Effect.map(spoken(sentences["en-US"], { speed }), ({ samples }) => samples.length)
        const normal = yield* lengthAt(1)
        expect((yield* lengthAt(0.5)) / normal).toBeGreaterThan(1.5)
        expect((yield* lengthAt(2)) / normal).toBeLessThan(0.7)
      })
    )

    it.effect("speaks texts after a NUL, texts like options and markup, and any other Unicode", () =>
      Effect.gen(function* () {
        const lengthOf = (text: string) => Effect.map(spoken(text), ({ samples }) => samples.length)
        const hello = yield* lengthOf("hello")
        expect(yield* lengthOf("hello\u0000 the rest of the world")).toBeGreaterThan(2 * hello)
        for (const text of [
          "--help",
          "-v de hello",
          "<speak>hello</speak>",
          "\ud800 hello",
          "👩‍👩‍👧",
          "日本語",
          "\u202e hello"
        ]) {
          expect(yield* lengthOf(text), text).toBeGreaterThan(0)
        }
        // U+0001 begins a command of the program: this one would set the speed.
        expect(yield* lengthOf("\u000180S hello \u000180S hello")).toBeLessThan(5 * hello)
        for (const blank of ["", "  \n", "\u0000"]) expect(yield* lengthOf(blank)).toBe(0)
      })
    )

    it.effect("speaks a text of 10,000 characters to its end, with a time for each word", () =>
      Effect.gen(function* () {
        const text = "The shop opens at nine in the morning. ".repeat(257)
        const { aligned, samples } = yield* spoken(text, { speed: 2 })
        expect(samples.length / 22_050).toBeGreaterThan(250)
        expect(aligned).toHaveLength(257 * 8)
        expect(aligned.at(-1)?.[0]).toBe(text.length)
        expect(aligned.at(-1)?.[1]).toBeLessThan(samples.length)
      })
    )
  })
})

describe("a program that misbehaves", () => {
  const running = (id: number | undefined) => id !== undefined && isRunning(id)
  it.live("is killed when its turn is cancelled, also while it hangs", () =>
    Effect.gen(function* () {
      for (const speaks of [`${speaksTone}; exec sleep 600`, "exec sleep 600"]) {
        const program = yield* fakeProgram(speaks)
        const turn = yield* Effect.forkDaemon(Effect.provide(spoken("Hello"), layerOf(program.path)))
        yield* Effect.repeat(Effect.sleep(2), { until: () => program.processes().length > 0 })
        yield* Fiber.interrupt(turn)
        yield* Effect.repeat(Effect.sleep(2), { until: () => !running(program.processes()[0]) })
      }
    }).pipe(Effect.scoped)
  )

  it.live("fails with what it says, and is logged when it speaks and complains", () =>
    Effect.gen(function* () {
      const broken = yield* fakeProgram('echo "no such thing" >&2; echo more >&2; exit 3')
      const error = yield* Effect.flip(Effect.provide(spoken("Hello"), layerOf(broken.path)))
      expect(error.reason).toBe(`the program "${broken.path}" failed with code 3: no such thing`)

      const double = yield* makeHostDouble()
      const noisy = yield* fakeProgram(`echo "low memory" >&2; ${speaksTone}`)
      const provider = EspeakTextToSpeech.layer({ program: noisy.path, wordsPerMinute: 175, log: double.host.log })
      yield* Effect.provide(spoken("My secret words"), provider)
      expect(double.logged).toEqual([
        { level: "warning", message: "espeak-ng: low memory", fields: { call_id: "call_1" } }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("gets the text as its standard input, without commands, and the speed of the settings", () =>
    Effect.gen(function* () {
      const program = yield* fakeProgram(keepsInput)
      const { aligned } = yield* Effect.provide(
        spoken("-v x\u0000\u0001 [[h@l]] Zoë\ud800", { speed: 1.2, voice: "espeak-de-DE-male-2", language: "de-DE" }),
        layerOf(program.path)
      )
      expect(program.lastInput()).toBe("-v x   [ [h@l]] Zoë\ufffd")
      expect(program.lastArguments()).toBe("-v file/de+m3 -s 210 -b 1 --stdin --stdout")
      expect(aligned.at(-1)?.[0]).toBe("-v x\u0000\u0001 [[h@l]] Zoë\ud800".length)
    }).pipe(Effect.scoped)
  )

  it.live("is unhealthy while it is not installed, and says what to install", () =>
    Effect.gen(function* () {
      const double = yield* makeHostDouble()
      const context = yield* Layer.build(
        EspeakTextToSpeech.layer({ program: "/nowhere/espeak-ng", wordsPerMinute: 175, log: double.host.log })
      )
      const reason =
        'the program "/nowhere/espeak-ng" was not found: install espeak-ng (on Debian: apt-get install espeak-ng), or set SVC_ESPEAK_PROGRAM to its path'
      const { health } = yield* Effect.provide(TextToSpeech, context)
      expect(yield* health).toEqual({ healthy: false, reason })
      expect(yield* health).toEqual({ healthy: false, reason })
      expect(double.logged).toEqual([{ level: "error", message: reason, fields: {} }])
      const error = yield* Effect.flip(Effect.provide(spoken("Hello"), context))
      expect(error).toMatchObject({ _tag: "TextToSpeechError", reason, retryable: true })
    }).pipe(Effect.scoped)
  )
})

describe("WavStream", () => {
  it("gives the same samples however the bytes are cut, and refuses other files", () => {
    const header = Buffer.from(
      "52494646" +
        "24f0ff7f" +
        "57415645666d7420" +
        "10000000" +
        "0100" +
        "0100" +
        "22560000" +
        "44ac0000" +
        "0200" +
        "1000" +
        "64617461" +
        "00f0ff7f",
      "hex"
    )
    const file = Buffer.concat([header, Buffer.from([1, 0, 255, 255, 0, 128])])
    for (let cut = 0; cut <= file.length; cut++) {
      const wav = new WavStream()
      const parts = [file.subarray(0, cut), file.subarray(cut)].map((part) => [...(wav.push(part) ?? [])])
      expect(parts.flat()).toEqual([1, -1, -32_768])
      expect(wav.isComplete).toBe(true)
    }
    const stereo = Buffer.from(file)
    stereo.writeUInt16LE(2, 22)
    expect(new WavStream().push(stereo)).toBeUndefined()
    expect(new WavStream().push(Buffer.alloc(100))).toBeUndefined()
    const short = new WavStream()
    short.push(header.subarray(0, 10))
    expect(short.isComplete).toBe(false)
  })
})

describe("wordTimes", () => {
  it("ends with the text, in ascending order, and gives digits and pauses more time", () => {
    const text = " At 10:30, Ada. Bye "
    const times = wordTimes(text, 1000)
    expect(times.map(({ characters }) => text.slice(0, characters))).toEqual([
      " At ",
      " At 10:30, ",
      " At 10:30, Ada. ",
      " At 10:30, Ada. Bye "
    ])
    const lengths = times.map(({ atSample }, n) => atSample - (times[n - 1]?.atSample ?? 0))
    expect(lengths.every((length) => length > 0)).toBe(true)
    expect(lengths[1]).toBeGreaterThan(3 * (lengths[0] ?? 0))
    expect(lengths[2]).toBeGreaterThan(lengths[3] ?? 0)
    expect(times.at(-1)?.atSample).toBe(1000)
    expect(wordTimes("  ", 1000)).toEqual([])
  })
})
