import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import type { CallLeg } from "@svc/providers/Telephony"
import { type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { type Context, type Duration, Effect, type Fiber, type Scope } from "effect"
import { Ticker } from "../../src/media/Ticker.ts"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import * as Announcement from "../../src/session/Announcement.ts"
import { silenceTimeout } from "../../src/session/SpeechOutput.ts"
import { SpeechCache } from "../../src/speech/SpeechCache.ts"

const text = { text: "A caller for you", voice: "female", language: "en-US" }

/** A second of sound. */
const speaks = ({ sink, text }: TextRequest): Effect.Effect<void> =>
  Effect.sync(() => {
    sink.write(new Int16Array(8000).fill(3000))
    sink.align(text.length, 8000)
  })

interface Bench {
  readonly said: Announcement.Announcement
  readonly over: Fiber.RuntimeFiber<void>
  readonly frames: ReadonlyArray<Uint8Array>
  readonly marks: ReadonlyArray<string>
  readonly asked: ReadonlyArray<string>
  readonly wait: (duration: Duration.DurationInput) => Effect.Effect<void>
}

/** Says the text with a voice to a leg that confirms marks. */
const saying = (
  synthesize: (request: TextRequest) => Effect.Effect<void, TextToSpeechError>,
  body: (b: Bench) => Effect.Effect<void, never, Scope.Scope>
) =>
  Effect.gen(function* () {
    const time = yield* VirtualTime
    const asked: Array<string> = []
    const provider: Context.Tag.Service<TextToSpeech> = {
      id: "test",
      voices: [],
      sampleRates: [8000],
      health: Effect.succeed(healthy),
      open: byText((request) => {
        asked.push(`${request.callId} ${request.voice} ${request.text}`)
        return synthesize(request)
      })
    }
    const frames: Array<Uint8Array> = []
    const marks: Array<string> = []
    const leg: CallLeg = {
      format: mulaw8k,
      marks: "exact",
      listen: () => {},
      send: (frame) => void frames.push(frame.slice()),
      mark: (name) => void marks.push(name),
      clear: () => {},
      hangup: () => {}
    }
    const said = yield* Announcement.begin({
      callId: "call_1",
      leg,
      text,
      voice: "Sarah",
      services: {
        ticker: yield* Ticker,
        chooseVoice: ({ voice }) => ({ provider, voice }),
        resolveVoice: (voice, _, preferred) => (voice === "female" ? preferred : voice),
        speechCache: yield* SpeechCache,
        silence: yield* silenceTimeout
      }
    })
    const over = yield* Effect.fork(said.over)
    yield* body({ said, over, frames, marks, asked, wait: (duration) => Effect.asVoid(time.advance(duration)) })
  }).pipe(Effect.scoped, Effect.provide(SpeechCache.layerMemory), Effect.provide(VirtualTime.layer(0)))

const isOver = ({ over }: Bench): boolean => over.unsafePoll() !== null

describe("an announcement", () => {
  it.live("is over when the leg has played it, and counts its characters", () =>
    saying(speaks, (b) =>
      Effect.gen(function* () {
        yield* b.wait("1500 millis")
        expect([b.asked, b.frames.length, isOver(b)]).toEqual([["call_1 Sarah A caller for you"], 50, false])
        for (const name of b.marks) b.said.onEvent({ _tag: "Mark", name, outcome: "played" })
        yield* b.wait("100 millis")
        expect(isOver(b)).toBe(true)
        expect(b.said.used()).toEqual({ characters: text.text.length, cached_characters: 0 })
      })
    )
  )

  it.live("is over at most 2 s after it could have been played on a leg that confirms nothing", () =>
    saying(speaks, (b) =>
      Effect.gen(function* () {
        yield* b.wait("1500 millis")
        expect(isOver(b)).toBe(false)
        yield* b.wait("1600 millis")
        expect(isOver(b)).toBe(true)
      })
    )
  )

  it.live("is over at once when the voice fails, and after 50 s when it does not end", () =>
    Effect.gen(function* () {
      yield* saying(
        () => Effect.fail(new TextToSpeechError({ reason: "no voice", retryable: false })),
        (b) =>
          Effect.gen(function* () {
            yield* b.wait("1 second")
            expect([isOver(b), b.frames]).toEqual([true, []])
          })
      )
      yield* saying(
        (request) => Effect.forever(Effect.zipRight(speaks(request), Effect.sleep("1 second"))),
        (b) =>
          Effect.gen(function* () {
            yield* b.wait("49 seconds")
            expect(isOver(b)).toBe(false)
            yield* b.wait("1 second")
            expect(isOver(b)).toBe(true)
          })
      )
    })
  )

  it.live("stops with its scope", () =>
    Effect.gen(function* () {
      let sent: ReadonlyArray<Uint8Array> = []
      yield* saying(speaks, (b) =>
        Effect.gen(function* () {
          yield* b.wait("500 millis")
          sent = b.frames
        })
      )
      expect(sent.length).toBeLessThan(30)
    })
  )
})
