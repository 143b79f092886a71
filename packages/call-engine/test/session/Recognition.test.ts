import { describe, expect, it } from "@effect/vitest"
import { frameBytes, mulaw8k } from "@svc/providers/Audio"
import type { SpeechEvent, SpeechToText } from "@svc/providers/SpeechToText"
import { SpeechToTextError } from "@svc/providers/SpeechToText"
import { type Context, Effect, TestClock } from "effect"
import { HeardAudio } from "../../src/session/HeardAudio.ts"
import * as Recognition from "../../src/session/Recognition.ts"

/** A session of speech-to-text as its provider sees it. */
interface Opened {
  /** The number of each frame that was pushed; voice activity as `on` and `off`. */
  readonly pushed: Array<number | undefined | "on" | "off">
  readonly emit: (event: SpeechEvent) => void
}

const broken = new SpeechToTextError({ reason: "broken", retryable: true })
const fails: SpeechEvent = { _tag: "Failed", error: broken }
const final = (end?: number): SpeechEvent => ({
  _tag: "Final",
  text: "one",
  confidence: 1,
  ...(end === undefined ? {} : { words: [{ text: "one", start: 0, end }] })
})

const format = { encoding: "pcm16", sampleRate: 8000 } as const
/** Frame `n` is told by its samples, modulo 64. */
const frameOf = (n: number, samples = 160) => new Int16Array(samples).fill(n % 64)
const numberOf = (frame: Int16Array) => frame[0]

/** Recognition with a provider that logs; it is opened again each time it fails. */
const recognize = (opens: (nth: number) => Effect.Effect<void, SpeechToTextError> = () => Effect.void) =>
  Effect.gen(function* () {
    const sessions: Array<Opened> = []
    let asked = 0
    let time = 0
    const failures: Array<number> = []
    const broke: Array<boolean> = []
    const events: Array<SpeechEvent> = []
    const provider: Context.Tag.Service<SpeechToText> = {
      id: "test",
      capabilities: { languages: ["en-US"], endpointing: "provider", sampleRates: [8000], keyterms: false },
      health: Effect.die("not asked"),
      open: ({ onEvent }) =>
        Effect.gen(function* () {
          yield* opens(++asked)
          const pushed: Opened["pushed"] = []
          sessions.push({ pushed, emit: onEvent })
          return {
            push: (frame) => void pushed.push(numberOf(frame)),
            voiceActivity: (on) => void pushed.push(on ? "on" : "off"),
            finish: Effect.void
          }
        })
    }
    const listen = () => recognition.listen({ language: "en-US", format: "raw", keyterms: [] })
    const recognition: Recognition.Recognition = yield* Recognition.make({
      callId: "call",
      providers: [provider],
      format,
      now: () => time,
      onEvent: (event) => void events.push(event),
      onOpened: () => {},
      onFailed: (_, hadWorked) => {
        failures.push(time)
        broke.push(hadWorked)
        if (failures.length < 4) listen()
      },
      onFinished: () => {}
    })
    let next = 0
    return {
      sessions,
      failures,
      broke,
      events,
      listen,
      voice: recognition.voiceActivity,
      /** Hears so many frames. */
      hear: (frames: number) =>
        Effect.gen(function* () {
          for (let n = 0; n < frames; n++) recognition.push(frameOf(next++))
          time += frames * 20
          yield* TestClock.adjust(frames * 20)
        }),
      /** The session that was opened last emits an event. */
      emit: (event: SpeechEvent) =>
        Effect.zipRight(
          Effect.sync(() => sessions.at(-1)?.emit(event)),
          Effect.yieldNow()
        )
    }
  })

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => (from + i) % 64)

describe("speech-to-text that breaks", () => {
  it.scoped("gets again what was heard since the last final, with the voice activity", () =>
    Effect.gen(function* () {
      const { emit, hear, listen, sessions, voice } = yield* recognize()
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(20)
      voice(false)
      yield* hear(10)
      yield* emit(final())
      yield* hear(8)
      voice(true)
      yield* hear(10)
      yield* emit(fails)
      yield* hear(1)
      expect(sessions[1]?.pushed).toEqual([...range(36, 39), "on", ...range(39, 50)])
    })
  )

  it.scoped("again and again while it gets the same audio again, has its words kept, and gets what follows", () =>
    Effect.gen(function* () {
      const { emit, events, hear, listen, sessions, voice } = yield* recognize()
      const partial: SpeechEvent = { _tag: "Partial", text: "one two" }
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(60)
      for (let n = 0; n < 3; n++) {
        yield* emit(partial)
        yield* emit(fails)
        yield* hear(1)
      }
      expect(events.filter(({ _tag }) => _tag === "Final")).toMatchObject([{ text: "one two" }])
      // The last session is opened a second later.
      yield* hear(60)
      expect(sessions).toHaveLength(4)
      expect(sessions[2]?.pushed.slice(0, 2)).toEqual([0, "on"])
      expect(sessions[3]?.pushed.slice(0, 2)).toEqual(["on", 63])
    })
  )

  it.scoped("and cannot be opened again gets all of it again when it can, and none of its words are kept", () =>
    Effect.gen(function* () {
      const { emit, events, hear, listen, sessions, voice } = yield* recognize((nth) =>
        nth === 2 || nth === 3 ? broken : Effect.void
      )
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(60)
      yield* emit({ _tag: "Partial", text: "one two" })
      yield* emit(fails)
      yield* hear(60)
      expect(events.filter(({ _tag }) => _tag === "Final")).toEqual([])
      expect(sessions).toHaveLength(2)
      expect(sessions[1]?.pushed.slice(0, 3)).toEqual([0, "on", 1])
    })
  )

  it.scoped("counts the times of words from the first frame that its session got", () =>
    Effect.gen(function* () {
      const { emit, hear, listen, sessions, voice } = yield* recognize()
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(40)
      yield* emit(final(400))
      yield* emit(fails)
      yield* hear(1)
      expect(sessions[1]?.pushed.slice(0, 2)).toEqual(["on", 20])
      // 200 ms of what the second session got are 10 more frames.
      yield* emit(final(200))
      yield* emit(fails)
      yield* hear(1)
      yield* hear(100)
      expect(sessions[2]?.pushed.slice(0, 2)).toEqual(["on", 30])
    })
  )

  it.scoped("keeps what began shortly before a final without times, which cannot be of it", () =>
    Effect.gen(function* () {
      const { emit, hear, listen, sessions, voice } = yield* recognize()
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(20)
      voice(false)
      yield* hear(15)
      voice(true)
      yield* hear(10)
      yield* emit(final())
      yield* emit(fails)
      yield* hear(1)
      expect(sessions[1]?.pushed).toEqual([...range(26, 36), "on", ...range(36, 47)])
    })
  )

  it.scoped("keeps what follows the end of a final that has one, also in speech that goes on", () =>
    Effect.gen(function* () {
      const { emit, hear, listen, sessions, voice } = yield* recognize()
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(60)
      yield* emit({ _tag: "Final", text: "one", confidence: 1, end: 600 })
      yield* emit(fails)
      yield* hear(1)
      expect(sessions[1]?.pushed).toEqual(["on", ...range(30, 62)])
    })
  )

  it.scoped("gets no more than ten seconds, and no long silence", () =>
    Effect.gen(function* () {
      const { emit, hear, listen, sessions, voice } = yield* recognize()
      listen()
      yield* hear(1)
      yield* hear(1000)
      yield* emit(fails)
      yield* hear(1)
      expect(sessions[1]?.pushed).toHaveLength(26)
      voice(true)
      yield* hear(1000)
      yield* emit(fails)
      yield* hear(0)
      expect(sessions[2]?.pushed.filter((each) => typeof each === "number")).toHaveLength(500)
    })
  )

  it.scoped("is not pushed to while it breaks in what it gets again", () =>
    Effect.gen(function* () {
      const { failures, hear, listen, sessions, voice } = yield* recognize((nth) => (nth < 2 ? Effect.void : broken))
      listen()
      yield* hear(1)
      voice(true)
      yield* hear(20)
      sessions[0]?.emit(fails)
      yield* hear(1)
      // At once; then after a pause.
      expect(failures).toHaveLength(2)
      yield* hear(40)
      expect(failures).toHaveLength(2)
      yield* hear(60)
      expect(failures.length).toBeGreaterThan(2)
      expect(sessions).toHaveLength(1)
      expect(sessions[0]?.pushed).toHaveLength(22)
    })
  )

  it.scoped("is told apart from what did not open, and from what failed within a second", () =>
    Effect.gen(function* () {
      const { broke, emit, hear, listen } = yield* recognize((nth) => (nth === 3 ? broken : Effect.void))
      listen()
      yield* hear(49)
      yield* emit(fails)
      yield* hear(1)
      yield* hear(50)
      yield* emit(fails)
      yield* hear(1)
      expect(broke).toEqual([false, true, false])
    })
  )

  it.scoped("that takes seconds to open gets all that was heard meanwhile", () =>
    Effect.gen(function* () {
      const { hear, listen, sessions } = yield* recognize(() => Effect.sleep("4 seconds"))
      listen()
      yield* hear(201)
      expect(sessions[0]?.pushed.length).toBeGreaterThanOrEqual(200)
    })
  )
})

describe("HeardAudio", () => {
  it.each([
    [mulaw8k, 80_000],
    [{ encoding: "pcm16", sampleRate: 16_000 } as const, 320_000]
  ])("keeps the last ten seconds at most, in the leg's format", (format, bytes) => {
    const heard = new HeardAudio(format)
    const samples = format.sampleRate / 50
    // Levels that mu-law keeps apart.
    for (let n = 0; n < 5000; n++) heard.push(frameOf(n, samples).fill((n % 8) * 4000), n % 3 === 0)
    expect([heard.start, heard.end]).toEqual([4500, 5000])
    expect((heard.end - heard.start) * frameBytes(format)).toBe(bytes)
    for (let n = heard.start; n < heard.end; n++) {
      expect(Math.round((numberOf(heard.frame(n)) ?? 0) / 4000)).toBe(n % 8)
      expect([heard.frame(n).length, heard.isSpeech(n)]).toEqual([samples, n % 3 === 0])
    }
    heard.forget(6000)
    expect(heard.start).toBe(5000)
  })
})
