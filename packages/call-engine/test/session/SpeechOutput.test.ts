import { expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import { type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
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
      now: () => now + clock.unsafeCurrentTimeMillis()
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
    return { log, speech, run, say, frames: () => frames, wheel }
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
