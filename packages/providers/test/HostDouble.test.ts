import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { describe } from "vitest"
import { makeHostDouble } from "../src/testing/HostDouble.ts"

describe("HostDouble", () => {
  it.effect("keeps what a plugin logs, counts and records", () =>
    Effect.gen(function* () {
      const { counted, host, logged, recorded } = yield* makeHostDouble({ baseUrl: "https://svc.test" })
      expect(host.baseUrl).toBe("https://svc.test")
      host.log.warning("reconnected", { call_id: "call_1" })
      host.metrics.counter("bytes", { tags: { direction: "in" } }).add(3)
      host.metrics.counter("bytes", { tags: { direction: "out" } }).add()
      host.metrics.histogram("delay_ms", { boundaries: [10] }).record(7)
      expect(logged).toEqual([{ level: "warning", message: "reconnected", fields: { call_id: "call_1" } }])
      expect(counted("bytes")).toBe(4)
      expect(counted("unknown")).toBe(0)
      expect(recorded("delay_ms")).toEqual([7])
    })
  )

  it.effect("verifies its own tokens until they expire", () =>
    Effect.gen(function* () {
      const { host } = yield* makeHostDouble()
      const other = yield* makeHostDouble()
      const token = host.sign({ agent: "agt_1" }, 60)
      expect(host.verify(token)).toEqual({ agent: "agt_1" })
      expect(host.verify("token-2")).toBeUndefined()
      expect(other.host.verify(token)).toBeUndefined()
      yield* TestClock.adjust("60 seconds")
      expect(host.verify(token)).toBeUndefined()
    })
  )

  it.effect("has a detector that goes by loudness, and counts those that are open", () =>
    Effect.gen(function* () {
      const { host, openDetectors } = yield* makeHostDouble()
      const detector = host.makeVoiceActivity(8000)
      expect(openDetectors()).toBe(1)
      expect(detector.push(new Int16Array(160))).toBe("silence")
      expect(detector.push(Int16Array.from({ length: 160 }, (_, i) => (i % 2 === 0 ? 1000 : -1000)))).toBe("speech")
      detector.close?.()
      expect(openDetectors()).toBe(0)
    })
  )

  it.effect("resamples chunks of any length as the whole at once", () =>
    Effect.gen(function* () {
      const { host } = yield* makeHostDouble()
      const samples = Int16Array.from({ length: 441 }, (_, i) => Math.round(5000 * Math.sin(i / 9)))
      for (const [from, to] of [
        [8000, 16_000],
        [44_100, 8000],
        [8000, 8000]
      ] as const) {
        const whole = host.makeResampler(from, to)
        const expected = [...whole.push(samples), ...whole.end()]
        expect(Math.abs(expected.length - (samples.length * to) / from)).toBeLessThanOrEqual(1)
        const pieces = host.makeResampler(from, to)
        const got: Array<number> = []
        for (let at = 0; at < samples.length; at += 7) got.push(...pieces.push(samples.subarray(at, at + 7)))
        expect([...got, ...pieces.end()]).toEqual(expected)
      }
    })
  )
})
