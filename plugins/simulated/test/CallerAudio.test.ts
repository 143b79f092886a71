import { describe, expect, it } from "@effect/vitest"
import { pcmToMulaw } from "@svc/providers/G711"
import { Effect } from "effect"
import { makeExchange } from "./Exchange.ts"
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
  it.scoped("arrives at once, in whole frames, however it was cut", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      const bytes = mulaw(toneFrames("Own voice"))
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 401) {
        phone.says(media(bytes.subarray(at, at + size)))
      }
      expect(call.heard).toEqual([{ text: "Own voice", outcome: "ok" }])
      expect(exchange.clock.size).toBe(0)
    })
  )

  it.scoped("is mixed with the voice of the network where they meet", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect()
      phone.says({ event: "say", text: "Hello" })
      // A microphone that hears nothing does not disturb, nor does it double the frames.
      for (let n = 0; n < 40; n++) {
        phone.says(media(new Uint8Array(160).fill(0xff)))
        exchange.time.advance(20)
      }
      expect(call.heard).toEqual([{ text: "Hello", outcome: "ok" }])
      expect(call.frames).toBeLessThanOrEqual(42)
      exchange.time.advance(2000)
      const before = call.frames
      phone.says(media(new Uint8Array(160).fill(0xff)))
      expect(call.frames).toBe(before + 1)
    })
  )

  it.scoped("reaches a phone that asked for the agent's audio", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect({ audio: true })
      const frame = Uint8Array.from({ length: 160 }, (_, n) => n)
      call.leg.send(frame)
      expect(phone.take()).toEqual([media(frame)])
    })
  )
})

describe("a bad line", () => {
  it.scoped("loses about as many frames as it was told to, the same each time", () =>
    Effect.gen(function* () {
      const counts = yield* Effect.replicateEffect(
        Effect.gen(function* () {
          const exchange = yield* makeExchange
          const { call, phone } = yield* exchange.connect({ loss: 0.2 })
          phone.says({ event: "say", text: words.repeat(10) })
          exchange.time.advance(60_000)
          return call.frames / ((words.length * 10 + 4) * 3 + 25)
        }),
        2
      )
      expect(counts[0]).toBeGreaterThan(0.7)
      expect(counts[0]).toBeLessThan(0.9)
      expect(counts[1]).toBe(counts[0])
    })
  )

  it.scoped("is understood with a little loss, and never believed when it is not", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const calls = yield* Effect.replicateEffect(exchange.connect({ loss: 0.02 }), 30)
      for (const { phone } of calls) phone.says({ event: "say", text: words })
      exchange.time.advance(20_000)
      const heard = calls.flatMap(({ call }) => call.heard)
      expect(heard.filter(({ outcome, text }) => outcome === "ok" && text !== words)).toEqual([])
      expect(heard.filter(({ outcome }) => outcome === "ok").length).toBeGreaterThanOrEqual(29)
    })
  )

  it.scoped("loses everything: nothing arrives and nothing stays", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect({ loss: 1 })
      phone.says({ event: "say", text: words })
      phone.says(media(new Uint8Array(320)))
      exchange.time.advance(20_000)
      expect([call.frames, exchange.clock.size]).toEqual([0, 0])
    })
  )

  it.scoped("is understood through noise", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      for (const noise_db of [30, 20, 12]) {
        const { call, phone } = yield* exchange.connect({ noise_db })
        phone.says({ event: "say", text: words })
        exchange.time.advance(20_000)
        expect(call.heard).toEqual([{ text: words, outcome: "ok" }])
      }
    })
  )

  it.scoped("delivers late but in order", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect({ jitter_ms: 200 })
      phone.says({ event: "say", text: words })
      const frames = (words.length + 4) * 3 + 25
      exchange.time.advance(1000)
      expect(call.frames).toBeLessThan(50)
      exchange.time.advance(frames * 20)
      expect(call.frames).toBe(frames)
      expect(call.heard).toEqual([{ text: words, outcome: "ok" }])
      expect(exchange.clock.size).toBe(0)
    })
  )

  it.scoped("delays a phone's own audio too, and keeps the clock only as long as it must", () =>
    Effect.gen(function* () {
      const exchange = yield* makeExchange
      const { call, phone } = yield* exchange.connect({ jitter_ms: 500, loss: 0, noise_db: 30 })
      phone.says(media(mulaw(toneFrames("Own voice"))))
      exchange.time.advance(1000)
      expect(call.heard).toEqual([{ text: "Own voice", outcome: "ok" }])
      expect(exchange.clock.size).toBe(0)
    })
  )
})
