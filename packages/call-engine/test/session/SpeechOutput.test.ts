import { expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import { type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { makeSteppedClock } from "@svc/providers/testing/SteppedClock"
import { type Context, Effect, TestClock } from "effect"
import { CallMedia } from "../../src/media/CallMedia.ts"
import { FrameWheel } from "../../src/media/FrameWheel.ts"
import * as SpeechOutput from "../../src/session/SpeechOutput.ts"

const frame = 160

/** A text-to-speech provider that synthesizes with `speak`. */
const provider = (
  speak: (request: TextRequest) => Effect.Effect<void, TextToSpeechError>
): Context.Tag.Service<TextToSpeech> => ({
  id: "test",
  voices: [],
  sampleRates: [8000],
  health: Effect.succeed(healthy),
  open: byText(speak)
})

/** One frame per character, aligned; waits when the sink is full. */
const oneFramePerCharacter = ({ sink, text }: TextRequest): Effect.Effect<void> =>
  Effect.forEach(
    [...text],
    (_, i) =>
      Effect.suspend(() => {
        const room = sink.write(new Int16Array(frame).fill(1000))
        sink.align(i + 1, (i + 1) * frame)
        return room ? Effect.void : sink.drained
      }),
    { discard: true }
  )

const make = (speak: (request: TextRequest) => Effect.Effect<void, TextToSpeechError>) =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const clock = yield* Effect.clock
    let frames = 0
    let now = 0
    const wheel = new FrameWheel(() => {})
    const media = new CallMedia({
      format: { encoding: "mulaw", sampleRate: 8000 },
      wheel,
      now: () => now,
      send: () => {
        frames++
      },
      detector: { push: () => "silence" },
      listener: {
        onFrame: () => {},
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
        onStarted: (id) => log.push(`started ${id}`),
        onPlayed: (id) => log.push(`played ${id}`)
      }
    })
    const speech = yield* SpeechOutput.make({
      callId: "call_1",
      media,
      sampleRate: 8000,
      chooseVoice: (command) => ({ provider: provider(speak), voice: command.voice }),
      onFailed: (id, reason) => log.push(`failed ${id}: ${reason}`),
      onWarning: (reason) => log.push(`warning: ${reason}`),
      now: () => now + monotonicMillis(clock)
    })
    /** Sends frames, and lets the synthesis that waits for them continue. */
    const run = (count: number) =>
      Effect.gen(function* () {
        for (let i = 0; i < count; i++) {
          now += 20
          while (!wheel.idle && wheel.nextDue <= now) wheel.tickDueSlots(wheel.nextDue, () => now)
          yield* Effect.yieldNow()
        }
      })
    const say = (id: string, text: string) =>
      Effect.zipRight(
        Effect.sync(() => speech.speak({ _tag: "Speak", id, text, voice: "Sarah", language: "en-US" })),
        Effect.repeatN(Effect.yieldNow(), 5)
      )
    /** Says a part of an answer. */
    const part = (id: string, text: string, turn = 1) =>
      Effect.zipRight(
        Effect.sync(() => speech.speak({ _tag: "Speak", id, text, turn, voice: "Sarah", language: "en-US" })),
        Effect.repeatN(Effect.yieldNow(), 5)
      )
    return { log, speech, run, say, part, frames: () => frames, wheel }
  })

it.scoped("utterances are spoken one after the other, and reported when they start and when they were played", () =>
  Effect.gen(function* () {
    const { run, say, log } = yield* make(oneFramePerCharacter)
    yield* say("a", "abc")
    yield* say("b", "de")
    yield* run(10)
    expect(log).toEqual(["started a", "played a", "started b", "played b"])
  })
)

it.scoped("an utterance longer than the buffer is spoken completely, whether or not the provider waits for room", () =>
  Effect.gen(function* () {
    const rude = ({ sink, text }: TextRequest) =>
      Effect.sync(() => void sink.write(new Int16Array(frame * text.length).fill(1000)))
    for (const speak of [oneFramePerCharacter, rude]) {
      const { frames, run, say, log } = yield* make(speak)
      yield* say("a", "x".repeat(500))
      yield* say("b", "yz")
      yield* run(520)
      expect(frames()).toBe(502)
      expect(log).toEqual(["started a", "played a", "started b", "played b"])
    }
  })
)

it.scoped("an utterance whose synthesis ends after its last frame was sent is reported as played", () =>
  Effect.gen(function* () {
    const { run, say, log } = yield* make((request) =>
      Effect.zipLeft(oneFramePerCharacter(request), Effect.sleep("1 second"))
    )
    yield* say("a", "abc")
    yield* run(10)
    expect(log).toEqual(["started a"])
    yield* TestClock.adjust("1 second")
    expect(log).toEqual(["started a", "played a"])
  })
)

it.scoped("a provider without audio for ten seconds fails that utterance, and the next is spoken", () =>
  Effect.gen(function* () {
    const { run, say, log } = yield* make((request) =>
      request.text === "hang" ? Effect.never : oneFramePerCharacter(request)
    )
    yield* say("a", "hang")
    yield* say("b", "ok")
    yield* TestClock.adjust("9 seconds")
    expect(log).toEqual([])
    yield* TestClock.adjust("2 seconds")
    yield* run(5)
    expect(log).toEqual(["failed a: the voice gave no audio", "started b", "played b"])
  })
)

it.scoped("a voice has the same time for its audio when the system's time is set back or forward meanwhile", () =>
  Effect.gen(function* () {
    for (const step of [-3_600_000, 3_600_000]) {
      const system = yield* makeSteppedClock
      const { say, log } = yield* Effect.withClock(
        make(() => Effect.never),
        system.clock
      )
      yield* say("a", "abc")
      yield* TestClock.adjust("4 seconds")
      yield* system.step(step)
      yield* TestClock.adjust("5999 millis")
      expect(log).toEqual([])
      yield* TestClock.adjust("1 millis")
      expect(log).toEqual(["failed a: the voice gave no audio"])
    }
  })
)

it.scoped("an utterance whose provider fails, dies or returns no audio is reported once, with the reason", () =>
  Effect.gen(function* () {
    const { run, say, log } = yield* make(({ text }) =>
      text === "fail"
        ? Effect.fail(new TextToSpeechError({ reason: "no credit", retryable: false }))
        : text === "die"
          ? Effect.die(new Error("bug"))
          : Effect.void
    )
    for (const [id, text] of [
      ["a", "fail"],
      ["b", "die"],
      ["c", "nothing"]
    ] as const) {
      yield* say(id, text)
    }
    yield* run(5)
    expect(log).toEqual(["failed a: no credit", "failed b: bug", "failed c: the voice gave no audio"])
  })
)

it.scoped("stop() stops at once, returns what was played of each utterance, and drops late audio", () =>
  Effect.gen(function* () {
    let late: (() => void) | undefined
    const { frames, run, say, speech, log, wheel } = yield* make((request) =>
      Effect.zipRight(
        oneFramePerCharacter(request),
        Effect.async<void>(() => {
          late = () => void request.sink.write(new Int16Array(10 * frame).fill(1000))
        })
      )
    )
    yield* say("a", "abcdefgh")
    yield* say("b", "never begun")
    yield* run(2)
    expect(speech.stop()).toEqual([
      { id: "a", played: "abc" },
      { id: "b", played: "" }
    ])
    const count = frames()
    late?.()
    yield* run(10)
    expect(frames()).toBe(count)
    expect(wheel.idle).toBe(true)
    expect(log).toEqual(["started a"])
    expect(speech.stop()).toEqual([])
  })
)

it.scoped("utterances are spoken again after stop()", () =>
  Effect.gen(function* () {
    const { run, say, speech, log } = yield* make(oneFramePerCharacter)
    yield* say("a", "x".repeat(200))
    yield* run(3)
    speech.stop()
    yield* say("b", "ok")
    yield* run(5)
    expect(log).toEqual(["started a", "started b", "played b"])
  })
)

it.scoped("text-to-speech that hangs within an answer fails the text without audio; what follows is tried again", () =>
  Effect.gen(function* () {
    const { log, part, run, speech } = yield* make((request) =>
      request.text.includes("hang") ? Effect.never : oneFramePerCharacter(request)
    )
    yield* part("a", "abc")
    yield* part("b", "hang")
    yield* part("c", "ok")
    speech.end(1)
    yield* run(10)
    expect(log).toEqual(["started a", "played a"])
    yield* TestClock.adjust("11 seconds")
    yield* run(10)
    expect(log).toEqual(["started a", "played a", "failed b: the voice gave no audio", "started c", "played c"])
  })
)

it.scoped("an answer that the model writes slowly does not fail the voice, and is one turn", () =>
  Effect.gen(function* () {
    const opened: Array<string> = []
    const { log, part, run, speech } = yield* make((request) => {
      opened.push(request.turn)
      return oneFramePerCharacter(request)
    })
    yield* part("a", "abc")
    yield* run(10)
    expect(log).toEqual(["started a", "played a"])
    yield* TestClock.adjust("60 seconds")
    yield* part("b", "de")
    speech.end(1)
    yield* run(10)
    expect(log).toEqual(["started a", "played a", "started b", "played b"])
    // Both texts were spoken in the turn of the first.
    expect(opened).toEqual(["a", "a"])
  })
)

it.scoped("a voice that fails within an answer keeps what it has spoken, and is reported once", () =>
  Effect.gen(function* () {
    const { log, part, run } = yield* make((request) =>
      request.text.includes("bad")
        ? Effect.fail(new TextToSpeechError({ reason: "closed", retryable: true }))
        : oneFramePerCharacter(request)
    )
    yield* part("a", "abc")
    yield* part("b", "bad")
    yield* run(10)
    expect(log).toEqual(["started a", "failed b: closed", "played a"])
    yield* part("c", "ok")
    yield* run(10)
    expect(log.slice(-2)).toEqual(["started c", "played c"])
  })
)

it.scoped("speech that is held goes on with its audio; a failure meanwhile is reported when it does", () =>
  Effect.gen(function* () {
    let fail = () => {}
    const { frames, log, part, run, speech } = yield* make((request) =>
      request.text.includes("bad")
        ? Effect.async<void, TextToSpeechError>((resume) => {
            fail = () => resume(new TextToSpeechError({ reason: "closed", retryable: true }))
          })
        : oneFramePerCharacter(request)
    )
    yield* part("a", "one two three")
    yield* part("b", "bad")
    yield* run(5)
    expect(speech.stop(true)).toEqual([
      { id: "a", played: "one tw", held: true },
      { id: "b", played: "", held: true }
    ])
    const sent = frames()
    fail()
    yield* run(20)
    expect([frames(), log]).toEqual([sent, ["started a"]])
    speech.resume()
    yield* run(20)
    // From "two": two frames again.
    expect(frames()).toBe(13 + 2)
    expect(log).toEqual(["started a", "started a", "failed b: closed", "played a"])
  })
)

it.scoped("speech that has given no audio is not held", () =>
  Effect.gen(function* () {
    const { part, speech } = yield* make(() => Effect.never)
    yield* part("a", "one two three")
    expect(speech.stop(true)).toEqual([{ id: "a", played: "" }])
  })
)

it.scoped("held speech that is dropped cancels the voice, and late audio is not heard", () =>
  Effect.gen(function* () {
    let late = () => {}
    let cancelled = 0
    const { frames, part, run, speech } = yield* make((request) =>
      Effect.zipRight(
        oneFramePerCharacter(request),
        Effect.async<void>(() => {
          late = () => void request.sink.write(new Int16Array(10 * frame).fill(1000))
          return Effect.sync(() => cancelled++)
        })
      )
    )
    yield* part("a", "one two three")
    yield* run(5)
    speech.stop(true)
    speech.drop()
    yield* Effect.yieldNow()
    const sent = frames()
    late()
    yield* run(20)
    expect([cancelled, frames()]).toEqual([1, sent])
  })
)

it.scoped("alignment that goes back, or beyond the text, is ignored", () =>
  Effect.gen(function* () {
    const { run, say, speech } = yield* make(({ sink, text }) =>
      Effect.sync(() => {
        sink.write(new Int16Array(20 * frame).fill(1000))
        for (const [characters, frames] of [
          [100, 1],
          [3, 5],
          [1, 6],
          [7, 2],
          [7, 15],
          [text.length, 20]
        ] as const)
          sink.align(characters, frames * frame)
      })
    )
    yield* say("a", "one two three")
    yield* run(7)
    expect(speech.stop()).toEqual([{ id: "a", played: "one" }])
  })
)
