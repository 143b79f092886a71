import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { recordings } from "@svc/audio/testing/Recordings"
import { louder } from "@svc/audio/testing/Signal"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect } from "effect"
import { signalProcessing } from "../../src/media/SignalProcessing.ts"
import { speechGate } from "../doubles/SpeechGate.ts"

const guide = new URL("../../../../docs/plugins.md", import.meta.url)
const example = new URL("../doubles/SpeechGate.ts", import.meta.url)
const silence = () => new Int16Array(160)

/** A recorded sentence in frames of 20 ms at 8 kHz. */
const sentence = (): ReadonlyArray<Int16Array> => {
  const signal = louder(recordings("callers")[3]?.signal ?? new Float32Array(), -26)
  return Array.from({ length: Math.floor(signal.length / 160) }, (_, n) =>
    Int16Array.from({ length: 160 }, (_unused, i) => signal[n * 160 + i] ?? 0)
  )
}

describe("docs/plugins.md, the example of makeVoiceActivity", () => {
  it("is the fixture SpeechGate.ts", () => {
    expect(readFileSync(guide, "utf8")).toContain(`\`\`\`ts\n${readFileSync(example, "utf8")}\`\`\``)
  })

  it.effect(
    "passes a recorded sentence on with the engine's detector, with little silence, and nothing of silence",
    () =>
      Effect.gen(function* () {
        const { host } = yield* makeHostDouble()
        const frames = sentence()
        const passed: Array<Int16Array> = []
        const gate = speechGate({ ...host, ...(yield* signalProcessing) }, 8000, (frame) => passed.push(frame))
        for (let n = 0; n < 100; n++) gate.push(silence())
        expect(passed).toEqual([])
        for (const frame of frames) gate.push(frame)
        for (let n = 0; n < 200; n++) gate.push(silence())
        gate.close()
        expect(passed.length).toBeGreaterThan(frames.length * 0.6)
        expect(passed.length).toBeLessThan(frames.length + 60)
      })
  )

  it.effect("keeps what came before the decision, copies frames, and closes its detector", () =>
    Effect.gen(function* () {
      const { host, openDetectors } = yield* makeHostDouble()
      const passed: Array<number> = []
      const gate = speechGate(host, 8000, (frame) => passed.push(frame[0] ?? 0))
      const frame = new Int16Array(160)
      for (let n = 0; n < 20; n++) gate.push(frame.fill(n))
      gate.push(frame.fill(5000))
      expect(passed).toEqual([...Array.from({ length: 15 }, (_, n) => n + 5), 5000])
      expect(openDetectors()).toBe(1)
      gate.close()
      expect(openDetectors()).toBe(0)
    })
  )
})
