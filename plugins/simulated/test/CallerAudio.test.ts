import { describe, expect, it } from "@effect/vitest"
import { pcmToMulaw } from "@svc/providers/G711"
import { Effect } from "effect"
import { makeTestNetwork } from "./TestNetwork.ts"
import { toneFrames } from "./Tones.ts"

const media = (bytes: Uint8Array) => ({ event: "media" as const, payload: Buffer.from(bytes).toString("base64") })

const mulaw = (frames: ReadonlyArray<Int16Array>): Uint8Array => {
  const pcm = Int16Array.from(frames.flatMap((frame) => [...frame]))
  const bytes = new Uint8Array(pcm.length)
  pcmToMulaw(pcm, 0, pcm.length, bytes, 0)
  return bytes
}

const words = "The quick brown fox jumps over the lazy dog"

describe("a phone's own audio", () => {
  it.scoped("media of any length arrives at once in whole frames", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      const bytes = mulaw(toneFrames("Own voice"))
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 401) {
        phone.sends(media(bytes.subarray(at, at + size)))
      }
      expect(call.heard).toEqual([{ text: "Own voice", outcome: "ok" }])
      expect(network.clock.size).toBe(0)
    })
  )

  it.scoped.each([70, 500, 3000])(
    "packets of speech follow one another when the process stalls for %i ms meanwhile",
    (ms) =>
      Effect.gen(function* () {
        const network = yield* makeTestNetwork
        const { call, phone } = yield* network.connect({ jitter_ms: 1 })
        phone.sends({ event: "say", text: words })
        network.time.advance(400)
        network.time.stall(ms)
        network.time.advance(10_000)
        expect(call.heard).toEqual([{ text: words, outcome: "ok" }])
        const [first] = call.packets
        expect(call.packets.length).toBeGreaterThan(100)
        expect(call.packets.map(({ timestamp }) => (timestamp - (first?.timestamp ?? 0) + 2 ** 32) % 2 ** 32)).toEqual(
          call.packets.map((_, n) => n * 160)
        )
      })
  )

  it.scoped("packets after a pause have its length in their timestamps, also when the process stalled before", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect({ jitter_ms: 1 })
      phone.sends({ event: "say", text: "One" })
      network.time.advance(100)
      network.time.stall(1000)
      network.time.advance(4000)
      const spoken = call.packets.length
      phone.sends({ event: "say", text: "Two" })
      network.time.advance(2000)
      const timestampOf = (n: number) => call.packets[n]?.timestamp ?? 0
      const pause = (timestampOf(spoken) - timestampOf(spoken - 1) + 2 ** 32) % 2 ** 32
      expect(pause / 8).toBeGreaterThan(2000)
      expect(pause / 8).toBeLessThan(4000)
    })
  )

  it.scoped("media is mixed with the speech of say where they overlap", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      phone.sends({ event: "say", text: "Hello" })
      // A silent microphone neither disturbs the speech nor doubles the frames.
      for (let n = 0; n < 40; n++) {
        phone.sends(media(new Uint8Array(160).fill(0xff)))
        network.time.advance(20)
      }
      expect(call.heard).toEqual([{ text: "Hello", outcome: "ok" }])
      expect(call.frames).toBeLessThanOrEqual(42)
      network.time.advance(2000)
      const before = call.frames
      phone.sends(media(new Uint8Array(160).fill(0xff)))
      expect(call.frames).toBe(before + 1)
    })
  )

  it.scoped("a phone that dials with audio receives the agent's audio as media", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect({ audio: true })
      const frame = Uint8Array.from({ length: 160 }, (_, n) => n)
      call.leg.send(frame)
      expect(phone.take()).toEqual([media(frame)])
    })
  )
})

describe("an impaired line", () => {
  it.scoped("loss drops about the requested share of frames, repeatably", () =>
    Effect.gen(function* () {
      const counts = yield* Effect.replicateEffect(
        Effect.gen(function* () {
          const network = yield* makeTestNetwork
          const { call, phone } = yield* network.connect({ loss: 0.2 })
          phone.sends({ event: "say", text: words.repeat(10) })
          network.time.advance(60_000)
          return call.frames / ((words.length * 10 + 4) * 3 + 25)
        }),
        2
      )
      expect(counts[0]).toBeGreaterThan(0.7)
      expect(counts[0]).toBeLessThan(0.9)
      expect(counts[1]).toBe(counts[0])
    })
  )

  it.scoped("speech with a small loss is decoded, and a wrong text is never ok", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const calls = yield* Effect.replicateEffect(network.connect({ loss: 0.02 }), 30)
      for (const { phone } of calls) phone.sends({ event: "say", text: words })
      network.time.advance(20_000)
      const heard = calls.flatMap(({ call }) => call.heard)
      expect(heard.filter(({ outcome, text }) => outcome === "ok" && text !== words)).toEqual([])
      expect(heard.filter(({ outcome }) => outcome === "ok").length).toBeGreaterThanOrEqual(29)
    })
  )

  it.scoped("with a loss of 1 nothing arrives and the clock stops", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect({ loss: 1 })
      phone.sends({ event: "say", text: words })
      phone.sends(media(new Uint8Array(320)))
      network.time.advance(20_000)
      expect([call.frames, network.clock.size]).toEqual([0, 0])
    })
  )

  it.scoped("speech with noise_db of 12 or more is decoded", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      for (const noise_db of [30, 20, 12]) {
        const { call, phone } = yield* network.connect({ noise_db })
        phone.sends({ event: "say", text: words })
        network.time.advance(20_000)
        expect(call.heard).toEqual([{ text: words, outcome: "ok" }])
      }
    })
  )

  it.scoped("jitter_ms delays frames and keeps their order", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect({ jitter_ms: 200 })
      phone.sends({ event: "say", text: words })
      const frames = (words.length + 4) * 3 + 25
      network.time.advance(1000)
      expect(call.frames).toBeLessThan(50)
      network.time.advance(frames * 20)
      expect(call.frames).toBe(frames)
      expect(call.heard).toEqual([{ text: words, outcome: "ok" }])
      expect(network.clock.size).toBe(0)
    })
  )

  it.scoped("jitter_ms delays media as well, and the clock stops afterwards", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect({ jitter_ms: 500, loss: 0, noise_db: 30 })
      phone.sends(media(mulaw(toneFrames("Own voice"))))
      network.time.advance(1000)
      expect(call.heard).toEqual([{ text: "Own voice", outcome: "ok" }])
      expect(network.clock.size).toBe(0)
    })
  )
})
