import { describe, expect, it } from "@effect/vitest"
import { type NoiseName, noise } from "@svc/audio/testing/Noise"
import { recordings } from "@svc/audio/testing/Recordings"
import { louder, mix, powerAt, rms, type Signal, sampleRate, throughTelephone } from "@svc/audio/testing/Signal"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { together } from "../doubles/VirtualProviders.ts"

/** Whole calls in which real speech and noise meet an agent that speaks. The recognizer understands neither. */

const callers = recordings("callers")
/** The active level of callers, in dBov. */
const level = -26
const firstMessage = "This is what the agent says for as long as it may. ".repeat(9)

const answerWith = (interrupt_after_ms: number) => ({
  ...configuration({ otherwise: "Ok." }).json,
  first_message: firstMessage,
  turn_taking: { interrupt_after_ms }
})

/** A caller's line: a noise that is `snr` dB weaker than speech would be, and speech, if any, after `silence` seconds. */
const line = (seconds: number, name: NoiseName, seed: number, snr: number, speech?: Signal, silence = 0) => {
  const signal = new Float32Array(seconds * sampleRate)
  if (speech !== undefined) signal.set(louder(speech, level), silence * sampleRate)
  return throughTelephone(mix(signal, noise(name, seconds, seed, callers), level - snr))
}

/** Milliseconds until speech is heard above a noise 20 dB weaker. */
const firstSoundOf = (speech: Signal = new Float32Array()): number => {
  let at = 0
  while (at < speech.length && rms(speech, at, at + 160) < powerAt(-20)) at += 80
  return at / 8
}

describe("real speech while the agent speaks", () => {
  it.live.each([
    ["white", 500, 650],
    ["babble", 500, 650],
    ["keyboard", 500, 650],
    ["white", 100, 250],
    // One caller begins with 140 ms of consonants that are hardly louder than the voices of others.
    ["babble", 100, 300],
    ["keyboard", 100, 250]
  ] as const)("in %s noise 20 dB weaker stops it soon after interrupt_after_ms", ([name, interruptAfter, limit]) =>
    Effect.gen(function* () {
      // A single word is no interruption.
      const utterances = callers.filter(({ signal }) => signal.length > sampleRate)
      const { result: late } = yield* together(
        utterances.length,
        () => ({}),
        (calls, wait) =>
          Effect.gen(function* () {
            yield* wait("500 millis")
            for (const [i, call] of calls.entries()) {
              yield* call.play(line(7, name, 3 + i, 20, utterances[i]?.signal, 3))
            }
            yield* wait("3 seconds")
            const speech = calls.map(({ heard }, i) => ({
              name: utterances[i]?.name,
              limit: limit + firstSoundOf(utterances[i]?.signal),
              frames: heard.length,
              until: 0
            }))
            for (let at = 20; at <= 1000; at += 20) {
              yield* wait("20 millis")
              for (const [i, of] of speech.entries()) {
                const frames = calls[i]?.heard.length ?? 0
                if (frames > of.frames) of.until = at
                of.frames = frames
              }
            }
            return speech.filter(({ limit, until }) => until === 0 || until > limit)
          }),
        answerWith(interruptAfter)
      )
      expect(late).toEqual([])
    })
  )
})

describe("noise while the agent speaks", () => {
  const names = ["pink", "fan", "traffic", "sudden", "keyboard", "music", "strings", "babble", "babble 9"] as const
  const seconds = 15

  it.live.each([
    [500, 20],
    [500, 10],
    [100, 20]
  ] as const)("never stops it with interrupt_after_ms %i, %i dB weaker than speech", ([interruptAfter, snr]) =>
    Effect.gen(function* () {
      const { result: stopped } = yield* together(
        names.length,
        () => ({}),
        (calls, wait) =>
          Effect.gen(function* () {
            yield* wait("500 millis")
            for (const [i, call] of calls.entries()) yield* call.play(line(seconds, names[i] ?? "pink", 11, snr))
            yield* wait(`${seconds} seconds`)
            return names.filter((_, i) => (calls[i]?.heard.length ?? 0) < seconds * 50)
          }),
        answerWith(interruptAfter)
      )
      expect(stopped).toEqual([])
    })
  )
})
