import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type VoiceActivityCheckOptions, voiceActivityChecks } from "../../src/testing/VoiceActivityChecks.ts"
import { voiceActivitySuite } from "../../src/testing/VoiceActivitySuite.ts"
import { VoiceActivity, type VoiceActivityDetector } from "../../src/VoiceActivity.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"

/** Detects sound of some loudness; its state can be broken in several ways. */
const energyDetector = (): Required<VoiceActivityDetector> => {
  let [frames, quiet] = [0, 0]
  return {
    push: (frame) => {
      const isLoud = frame.some((sample) => Math.abs(sample) > 1000)
      frames++
      quiet = isLoud ? 0 : quiet + 1
      return frames > quiet && quiet < 10 ? "speech" : "silence"
    },
    lasted: (state) => 20 * (state === "silence" ? quiet : frames - quiet),
    sent: () => {},
    close: () => {}
  }
}

const shared = energyDetector()
const bugs = {
  "push throws": () => ({
    ...energyDetector(),
    push: () => {
      throw new Error("boom")
    }
  }),
  "is deaf": () => ({ ...energyDetector(), push: () => "silence" as const }),
  "always reports speech": () => ({ ...energyDetector(), push: () => "speech" as const }),
  "reports no length": () => ({ ...energyDetector(), lasted: () => Number.NaN }),
  "counts silence from the start": () => ({ ...energyDetector(), lasted: () => 60_000 }),
  "changes frames": () => ({
    ...energyDetector(),
    sent: (frame: Int16Array | undefined) => {
      frame?.fill(0)
    }
  }),
  "shares one state": () => shared
} satisfies Record<string, () => VoiceActivityDetector>

const options = (open: () => VoiceActivityDetector): VoiceActivityCheckOptions => ({
  layer: Layer.succeed(VoiceActivity, { open }),
  sessions: 20,
  speak: (sampleRate) =>
    Array.from({ length: 50 }, () => Int16Array.from({ length: sampleRate / 50 }, (_, i) => 8000 * Math.sin(i * 0.3)))
})

voiceActivitySuite({ name: "a correct voice activity detector", ...options(energyDetector) })

const finds = "silence is silence, and speech is found and ends, at each sample rate"
const length = "lasted tells no longer than the call, and the length of silence after speech"
const samples = "push and sent take any samples, and do not change them"
const separate = "detectors of different calls, and of calls one after the other, do not affect each other"
const thousand = "a thousand calls can be opened and closed"

const expected: { readonly [B in keyof typeof bugs]: Expected } = {
  "push throws": { allBut: [] },
  "is deaf": [finds, length],
  "always reports speech": [finds, length],
  "reports no length": [finds, length, samples, separate, thousand],
  "counts silence from the start": [length],
  "changes frames": [samples],
  "shares one state": [separate]
}

describe("a voice activity detector that", () => {
  for (const [bug, open] of Object.entries(bugs)) {
    it.effect(`${bug} fails the checks that are about it`, () =>
      Effect.gen(function* () {
        const checks = voiceActivityChecks(options(open))
        expect(yield* failing(checks)).toEqual(namesOf(expected[bug as keyof typeof bugs], checks))
      })
    )
  }
})
