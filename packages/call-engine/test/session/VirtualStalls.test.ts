import { describe, expect, it } from "@effect/vitest"
import { codecOf } from "@svc/audio/Codec"
import { mulaw8k } from "@svc/providers/Audio"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { speakText } from "@svc/providers/SpeechTurn"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { transcribed } from "../doubles/Transcribed.ts"
import type { LegKind } from "../doubles/VirtualPhone.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls in which the process stalls while the network goes on: what it delivers meanwhile waits to be read. */

/** When the caller's n-th frame comes, the process stalls; then its timers run first, or what waits is read first. */
interface Stall {
  readonly at: number
  readonly ms: number
  readonly first: "timers" | "network"
}

const stalls = (at: number): ReadonlyArray<Stall> =>
  [200, 500, 1000, 2000].flatMap((ms) => (["timers", "network"] as const).map((first) => ({ at, ms, first })))

const codec = codecOf(mulaw8k)

const framesOf = (pcm: ReadonlyArray<number>): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(pcm.length / 160) }, (_, i) => {
    const bytes = new Uint8Array(160)
    codec.encode(
      Int16Array.from({ length: 160 }, (_, n) => pcm[i * 160 + n] ?? 0),
      0,
      160,
      bytes,
      0
    )
    return bytes
  })

const silence = (ms: number): ReadonlyArray<number> => new Array<number>(ms * 8).fill(0)

const digitFive = (ms: number): ReadonlyArray<number> =>
  Array.from({ length: ms * 8 }, (_, n) =>
    Math.round(6000 * (Math.sin((2 * Math.PI * 770 * n) / 8000) + Math.sin((2 * Math.PI * 1336 * n) / 8000)))
  )

const speechOf = (voice: Context.Tag.Service<TextToSpeech>, text: string) =>
  Effect.gen(function* () {
    const spoken: Array<number> = []
    yield* speakText(voice, {
      callId: "caller",
      turn: text,
      speed: 1,
      text,
      voice: "Sarah",
      language: "en-US",
      sampleRate: 8000,
      sink: { write: (pcm) => spoken.push(...pcm) > 0, align: () => {}, drained: Effect.void }
    })
    return spoken
  }).pipe(Effect.orDie)

/** Delivers packets in real time; those of a stall after it. */
const deliver = (call: VirtualCall, frames: ReadonlyArray<Uint8Array>, stall: Stall) =>
  Effect.gen(function* () {
    let sent = 0
    const send = (until: number) =>
      Effect.whileLoop({
        while: () => sent < Math.min(until, frames.length),
        body: () =>
          call.emit({
            _tag: "Audio",
            payload: frames[sent] ?? new Uint8Array(),
            sequence: sent & 0xffff,
            timestamp: sent++ * 160
          }),
        step: () => {}
      })
    for (let now = 0; now < frames.length; now++) {
      if (now === stall.at) {
        yield* call.stall(stall.ms)
        now += stall.ms / 20
        if (stall.first === "timers") yield* call.wait(0)
      }
      yield* send(now + 1)
      yield* call.wait("20 millis")
    }
  })

/** A call in which the caller makes these sounds from 3 s on. */
const callWith = (
  stall: Stall,
  sounds: (voice: Context.Tag.Service<TextToSpeech>) => Effect.Effect<ReadonlyArray<number>>,
  more: Readonly<Record<string, unknown>> = {},
  script: object = {},
  leg?: LegKind
) =>
  Effect.gen(function* () {
    let voice: Context.Tag.Service<TextToSpeech> | undefined
    let recognizer: Context.Tag.Service<SpeechToText> | undefined
    const { result } = yield* during(
      ({ speechToText, textToSpeech }) => {
        voice = textToSpeech[0]
        recognizer = speechToText[0]
        return {}
      },
      (call) =>
        Effect.gen(function* () {
          if (voice === undefined) return yield* Effect.dieMessage("no voice")
          yield* call.wait("3 seconds")
          yield* deliver(call, framesOf(yield* sounds(voice)), stall)
          yield* call.wait("6 seconds")
          const inputs = call.log.rows.map(({ input }) => input)
          return { inputs, turns: call.turns(), heard: [...call.heard] }
        }),
      configuration({ otherwise: "You said {{user}}.", ...script }, more).json,
      [],
      leg
    )
    if (recognizer === undefined) return yield* Effect.dieMessage("no recognizer")
    const count = (tag: string) => result.inputs.filter(({ _tag }) => _tag === tag).length
    return { ...result, count, said: yield* transcribed(recognizer, mulaw8k, result.heard) }
  })

const understood = ["assistant: Hello.", "user: One two three", "assistant: You said One two three."]

describe("a whole call in which the process stalls", () => {
  it.live.each(stalls(30))("hears one utterance, whole and once: $ms ms, $first first", (stall) =>
    Effect.gen(function* () {
      const { count, said, turns } = yield* callWith(stall, (voice) =>
        Effect.map(speechOf(voice, "One two three"), (spoken) => [...spoken, ...silence(3000)])
      )
      expect(turns).toEqual(understood)
      expect(said).toEqual(["Hello.", "You said One two three."])
      const counts = ["CallerFinal", "CallerEndOfTurn", "CallerSpeechStarted", "CallerSpeechStopped", "SpeechCleared"]
      expect(counts.map(count)).toEqual([1, 1, 1, 1, 0])
    })
  )

  it.live.each(stalls(37))("ends no turn in a pause that was over before its time: $ms ms, $first first", (stall) =>
    Effect.gen(function* () {
      const { turns } = yield* callWith(
        // "One" is 21 frames long: the stall begins 320 ms after it.
        stall,
        (voice) =>
          Effect.zipWith(speechOf(voice, "One"), speechOf(voice, "two three"), (one, two) => [
            ...one,
            ...silence(500),
            ...two,
            ...silence(4000)
          ]),
        { turn_taking: { end_of_turn_ms: 600 } },
        { providers: { stt: { endpointing: "none" } } }
      )
      expect(turns.filter((turn) => turn.startsWith("user"))).toEqual(["user: One two three"])
    })
  )

  it.live.each(stalls(4))("takes a digit in the sound once: $ms ms, $first first", (stall) =>
    Effect.gen(function* () {
      const { inputs } = yield* callWith(
        stall,
        () => Effect.succeed([...silence(40), ...digitFive(200), ...silence(3000)]),
        {},
        {},
        { format: mulaw8k, keyEvents: false }
      )
      expect(inputs.flatMap((input) => (input._tag === "Dtmf" ? [input.digit] : []))).toEqual(["5"])
    })
  )

  it.live.each(stalls(30))("says all that it has to say, and reports it once: $ms ms, $first first", (stall) =>
    Effect.gen(function* () {
      const text = "This is a long story about a man who went to sea and who did not come home again."
      const { count, inputs, said } = yield* callWith(stall, () => Effect.succeed(silence(8000)), {
        first_message: text
      })
      expect(said).toEqual([text])
      expect([count("SpeechPlayed"), count("SpeechCleared"), count("CallerSpeechStarted")]).toEqual([1, 0, 0])
      const timeOf = (tag: string) =>
        inputs.flatMap((input) => (input._tag === tag && "at" in input ? [input.at] : []))[0] ?? Number.NaN
      // 16 characters a second, and the stall.
      const lasted = timeOf("SpeechPlayed") - timeOf("SpeechStarted")
      expect(lasted).toBeGreaterThan(text.length * 60 + stall.ms - 300)
      expect(lasted).toBeLessThan(text.length * 60 + stall.ms + 500)
    })
  )
})
