import { describe, expect, it } from "@effect/vitest"
import { recordings } from "@svc/audio/testing/Recordings"
import { louder, rms } from "@svc/audio/testing/Signal"
import { mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { byText } from "@svc/providers/SpeechTurn"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import type { VoiceActivity } from "@svc/providers/VoiceActivity"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls in which the agent's voice comes back in the caller's audio. */

const paths = [0, 6, 12, 20, 28].flatMap((db) => [60, 200, 400].map((delayMs) => ({ db, delayMs })))

const story = "Once upon a time there was an office that opened at nine and closed at five on every day of the week."

const answerWith = (providers: unknown = {}) => ({
  ...configuration({ rules: [{ user: "story", say: story }], otherwise: "You said {{user}}.", providers }).json,
  first_message: "Good morning, this is the office. How may I help you?"
})

/** The caller asks, and interrupts what the agent tells. */
const interrupt = (call: VirtualCall) =>
  Effect.gen(function* () {
    yield* call.wait("7 seconds")
    yield* call.say("Tell me a story")
    yield* call.wait("3500 millis")
    yield* call.say("Stop it now and listen to me")
    yield* call.wait("2500 millis")
    const heard = call.heard.length
    yield* call.wait("10 seconds")
    return { turns: call.turns(), heard }
  })

const agentLines = recordings("agent").map(({ signal }) => Int16Array.from(louder(signal, -26)))
const callerLines = recordings("callers").filter(({ signal }) => signal.length > 2 * 8000)

/** A voice that speaks for about 10 s. */
const realVoice: Context.Tag.Service<TextToSpeech> = {
  id: "recorded",
  voices: [{ name: "Sarah", languages: "*", gender: "female" }],
  sampleRates: [8000],
  health: Effect.succeed(healthy),
  open: byText(({ sink }) =>
    Effect.forEach(
      agentLines.flatMap((line) =>
        Array.from({ length: Math.floor(line.length / 160) }, (_, n) => line.subarray(n * 160, n * 160 + 160))
      ),
      (frame) => (sink.write(frame) ? Effect.void : sink.drained),
      { discard: true }
    )
  )
}

/** The level from which a frame is sound. */
const audible = 150
const soundsIn = (frames: ReadonlyArray<Int16Array>) => frames.filter((frame) => rms(frame) > audible).length

/** Speech-to-text that understands a word in 100 ms of sound, and takes 500 ms of silence for the end of a turn. */
const onSound = (pushed: Array<Int16Array>): Context.Tag.Service<SpeechToText> => ({
  id: "on-sound",
  capabilities: { languages: ["en-US"], endpointing: "provider", sampleRates: [8000], keyterms: false },
  health: Effect.succeed(healthy),
  open: ({ onEvent }) =>
    Effect.sync(() => {
      let sounds = 0
      let silences = 0
      return {
        push: (frame) => {
          pushed.push(frame.slice())
          silences = rms(frame) > audible ? 0 : silences + 1
          if (silences === 0 && ++sounds === 5) onEvent({ _tag: "Partial", text: "words" })
          if (silences !== 25) return
          if (sounds >= 5) {
            onEvent({ _tag: "Final", text: "words", confidence: 1 })
            onEvent({ _tag: "EndOfTurn" })
          }
          sounds = 0
        },
        finish: Effect.void
      }
    })
})

const interrupted = ([greeting, question, cut, ...rest]: ReadonlyArray<string>) => {
  expect([greeting, question, ...rest]).toEqual([
    "assistant: Good morning, this is the office. How may I help you?",
    "user: Tell me a story",
    "user: Stop it now and listen to me",
    "assistant: You said Stop it now and listen to me."
  ])
  const told = cut?.replace("assistant: ", "") ?? ""
  expect(story.startsWith(told) && told.length > 5 && told.length < story.length / 2).toBe(true)
}

describe("the agent's echo", () => {
  it.live.each(paths)("$db dB weaker, after $delayMs ms, is not heard as words, and the caller's words are", (echo) =>
    Effect.gen(function* () {
      const { result } = yield* during(() => ({}), interrupt, answerWith(), [], {
        format: mulaw8k,
        network: { echo }
      })
      interrupted(result.turns)
    })
  )

  it.live("is not heard by a session that gets again what was not final when another broke", () =>
    Effect.gen(function* () {
      const { result, state } = yield* during(() => ({}), interrupt, answerWith({ stt: { fail_every_s: 11.5 } }), [], {
        format: mulaw8k,
        network: { echo: { db: 6, delayMs: 120 } }
      })
      expect(state.failure).toBeNull()
      interrupted(result.turns)
    })
  )

  it.live.each(paths.filter(({ db, delayMs }) => db < 20 && delayMs !== 200))(
    "$db dB weaker, after $delayMs ms, is not heard as words with a detector that takes every sound for speech",
    (echo) =>
      Effect.gen(function* () {
        const loud: Context.Tag.Service<VoiceActivity> = {
          open: () => ({ push: (frame) => (frame.some((sample) => Math.abs(sample) > 300) ? "speech" : "silence") })
        }
        const { result } = yield* during(
          () => ({ voiceActivity: loud }),
          (call) => Effect.as(call.wait("12 seconds"), call),
          answerWith(),
          [],
          { format: mulaw8k, network: { echo } }
        )
        expect(result.turns()).toEqual(["assistant: Good morning, this is the office. How may I help you?"])
      })
  )

  it.live.each(paths.filter((_, n) => n % 3 === 0 || n === 2 || n === 4))(
    "of real speech, $db dB weaker, after $delayMs ms, is not heard; a caller who interrupts is",
    (echo) =>
      Effect.gen(function* () {
        const pushed: Array<Int16Array> = []
        const [line] = callerLines
        const said = Int16Array.from(louder(line?.signal ?? new Float32Array(), -26))
        const frames = Array.from({ length: Math.floor(said.length / 160) }, (_, n) =>
          said.subarray(n * 160, n * 160 + 160)
        )
        const { result } = yield* during(
          () => ({ speechToText: [onSound(pushed)], textToSpeech: [realVoice] }),
          (call) =>
            Effect.gen(function* () {
              yield* call.wait("7 seconds")
              const alone = { sounds: soundsIn(pushed), turns: call.turns() }
              pushed.length = 0
              yield* call.play(said)
              yield* call.wait("1500 millis")
              const sent = call.heard.length
              yield* call.wait("300 millis")
              const stopped = call.heard.length === sent
              yield* call.wait("10 seconds")
              return { alone, stopped, sounds: soundsIn(pushed), turns: call.turns() }
            }),
          answerWith(),
          [],
          { format: mulaw8k, network: { echo } }
        )
        expect(result.alone).toEqual({ sounds: 0, turns: [] })
        expect(result.stopped).toBe(true)
        expect(result.turns).toEqual([expect.stringMatching(/^assistant: Good/), "user: words"])
        expect(result.sounds / soundsIn(frames)).toBeGreaterThan(0.9)
        expect(result.sounds).toBeLessThan(soundsIn(frames) + 3)
      })
  )
})
