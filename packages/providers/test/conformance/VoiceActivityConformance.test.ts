import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type VoiceActivityCheckOptions, voiceActivityChecks } from "../../src/testing/VoiceActivityChecks.ts"
import { voiceActivitySuite } from "../../src/testing/VoiceActivitySuite.ts"
import { VoiceActivity, type VoiceActivityDetector } from "../../src/VoiceActivity.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"

/** Detects sound of some loudness; its state can be broken in several ways. */
const energyDetector = (): Required<VoiceActivityDetector> => {
  let [frames, quiet, started] = [0, 10, 0]
  return {
    push: (frame) => {
      const isLoud = frame.some((sample) => Math.abs(sample) > 1000)
      if (isLoud && quiet >= 10) started = frames
      frames++
      quiet = isLoud ? 0 : quiet + 1
      return quiet < 10 ? "speech" : "silence"
    },
    lasted: (state) => 20 * (state === "silence" ? quiet : frames - started),
    sent: () => {},
    close: () => {}
  }
}

/** The same, which decides `frames` frames later. `dates`: whether it reports so with `lasted`. */
const lagging = (frames: number, dates: boolean) => (): VoiceActivityDetector => {
  const detector = energyDetector()
  const waiting: Array<"speech" | "silence"> = []
  const since = { speech: 0, silence: 0 }
  let now = 0
  return {
    push: (frame) => {
      waiting.push(detector.push(frame))
      const answer = waiting.length > frames ? (waiting.shift() ?? "silence") : "silence"
      now += 20
      // As long as its answer is the other one, a state has not begun.
      since[answer === "speech" ? "silence" : "speech"] = now
      return answer
    },
    ...(dates ? { lasted: (state) => (since[state] === now ? 0 : now - since[state] + 20 * frames) } : {})
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
  "shares one state": () => shared,
  "decides late without lasted": lagging(30, false),
  "counts from its late decision": () => ({ ...lagging(30, false)(), lasted: () => 20 })
} satisfies Record<string, () => VoiceActivityDetector>

const options = (open: () => VoiceActivityDetector): VoiceActivityCheckOptions => ({
  layer: Layer.succeed(VoiceActivity, { open }),
  sessions: 20,
  speak: (sampleRate) =>
    Array.from({ length: 50 }, () => Int16Array.from({ length: sampleRate / 50 }, (_, i) => 8000 * Math.sin(i * 0.3)))
})

voiceActivitySuite({ name: "a correct voice activity detector", ...options(energyDetector) })
voiceActivitySuite({ name: "a correct detector that decides 0.6 s late", ...options(lagging(30, true)) })

const finds = "silence is silence, and speech is found and ends, at each sample rate"
const length = "lasted tells no longer than the call, and the length of silence after speech"
const dates = "a detector that decides with a delay dates speech and silence with lasted"
const samples = "push and sent take any samples, and do not change them"
const separate = "detectors of different calls, and of calls one after the other, do not affect each other"
const thousand = "a thousand calls can be opened and closed"

const expected: { readonly [B in keyof typeof bugs]: Expected } = {
  "push throws": { allBut: [] },
  "is deaf": [finds, length, dates],
  "always reports speech": [finds, length, dates],
  "reports no length": [finds, length, dates, samples, separate, thousand],
  "counts silence from the start": [length, dates],
  "changes frames": [samples],
  "shares one state": [separate],
  "decides late without lasted": [dates],
  "counts from its late decision": [length, dates]
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
