import type { AudioFormat } from "@svc/providers/Audio"
import { describe, expect, it } from "vitest"
import { CallMedia } from "../../src/media/CallMedia.ts"
import { FrameWheel } from "../../src/media/FrameWheel.ts"
import { RecordedCall } from "../../src/recording/RecordedCall.ts"

const format: AudioFormat = { encoding: "pcm16", sampleRate: 8000 }
const minutes = 30
const total = minutes * 60 * 8000

/** Noise: the sample at a position, the same every time. */
const noiseAt = (seed: number, position: number): number => {
  let x = Math.imul(position + seed, 0x9e3779b1)
  x = Math.imul(x ^ (x >>> 15), 0x85ebca6b)
  return (x ^ (x >>> 13)) >> 19
}

const random = (seed: number) => {
  let at = 0
  return () => (noiseAt(seed, at++) + 4096) / 8192
}

interface Line {
  /** By how much the caller's clock is fast. */
  readonly ppm: number
  readonly jitterMs: number
  readonly loss: number
  readonly packets: boolean
}

/** Records half an hour in which both sides send noise, the agent a second of every five. */
const recordedOn = async ({ jitterMs, loss, packets, ppm }: Line) => {
  let now = 0
  const wheel = new FrameWheel(() => {})
  const sides = { left: new Int16Array(total + 8000), right: new Int16Array(total + 8000) }
  let taken = 0
  const put = (left: Uint8Array, right: Uint8Array) => {
    sides.left.set(new Int16Array(left.slice().buffer), taken)
    sides.right.set(new Int16Array(right.slice().buffer), taken)
    taken += left.length / 2
  }
  const recorded = new RecordedCall(format, 0)
  recorded.start({ write: put, end: put, cancel: () => {} })
  /** When the agent's noise left, by its position: every fifth second. */
  const left: Array<{ readonly position: number; readonly at: number }> = []
  let sent = 0
  const media = new CallMedia({
    format,
    wheel,
    now: () => now,
    send: () => {
      if (sent % 8000 === 0) left.push({ position: sent, at: now })
      sent += 160
    },
    detector: { push: () => "silence" },
    listener: {
      onFrame: () => {},
      onCleanFrame: () => {},
      onVoiceActivity: () => {},
      onStarted: () => {},
      onPlayed: () => {}
    }
  })
  media.record({
    received: (bytes, at, isSilence) => recorded.received(bytes, at, isSilence),
    sent: (frame) => recorded.sent(frame, now)
  })
  const tickUntil = (time: number) => {
    while (!wheel.idle && wheel.nextDue <= time) {
      now = Math.max(now, wheel.nextDue)
      wheel.tickDueSlots(now, () => now)
    }
    now = Math.max(now, time)
  }
  const next = random(1)
  const bytes = new Uint8Array(320)
  const samples = new Int16Array(bytes.buffer)
  /** Packets that are on their way, by the time of their arrival. */
  let waiting: Array<{ readonly at: number; readonly index: number }> = []
  let written = 0
  for (let index = 0; (index + 1) * 160 <= total * (1 - Math.abs(ppm) / 1e6); index++) {
    const spoken = (index + 1) * 20 * (1 - ppm / 1e6)
    const newest = waiting.at(-1)?.at ?? 0
    const arrival = spoken + next() * jitterMs
    // Without numbers nothing is lost or overtaken.
    if (!packets || next() >= loss) waiting.push({ at: packets ? arrival : Math.max(newest, arrival), index })
    waiting.sort((a, b) => a.at - b.at)
    for (const packet of waiting.filter(({ at }) => at <= spoken)) {
      tickUntil(packet.at)
      for (let i = 0; i < 160; i++) samples[i] = noiseAt(7, packet.index * 160 + i)
      if (packets) media.receive(bytes, packet.index & 0xffff, (packet.index * 160) >>> 0)
      else media.receive(bytes)
    }
    waiting = waiting.filter(({ at }) => at > spoken)
    if (index % 250 === 0) {
      tickUntil(spoken)
      media.begin(`u${index}`, "noise")
      media.write(Int16Array.from({ length: 8000 }, (_, i) => noiseAt(9, written + i)))
      written += 8000
      media.end()
    }
    if (index % 12 === 0) recorded.handOver(now)
    // The worker must answer its test runner within a minute.
    if (index % 3000 === 0) await new Promise(setImmediate)
  }
  tickUntil(now + 100)
  recorded.stop(now)
  media.stop()
  return { ...sides, agentLeft: left, quality: media.quality }
}

/** How many samples later than `at` a tenth of a second of the noise is found, within 50 ms; NaN: not at all. */
const foundLater = (side: Int16Array, at: number, seed: number, position: number): number => {
  let best = Number.NaN
  let most = 0.3
  for (let lag = -400; lag <= 400; lag++) {
    let product = 0
    let energy = 1
    let wanted = 1
    for (let i = 0; i < 800; i += 2) {
      const sample = side[at + lag + i] ?? 0
      const noise = noiseAt(seed, position + i)
      product += sample * noise
      energy += sample * sample
      wanted += noise * noise
    }
    const correlation = product / Math.sqrt(energy * wanted)
    if (correlation > most) {
      most = correlation
      best = lag
    }
  }
  return best
}

describe("a recording of half an hour", () => {
  it.each([
    { ppm: 200, jitterMs: 50, loss: 0.02, packets: true },
    { ppm: -200, jitterMs: 50, loss: 0.02, packets: true },
    { ppm: 200, jitterMs: 30, loss: 0, packets: false },
    { ppm: -200, jitterMs: 30, loss: 0, packets: false }
  ])(
    "has both sides within 20 ms of their time: clock $ppm ppm fast, jitter $jitterMs ms, loss $loss, packets: $packets",
    async (line) => {
      const { agentLeft, left, right, quality } = await recordedOn(line)
      let foundCaller = 0
      for (let minute = 0; minute < minutes; minute++) {
        // What the caller said at this time, by their own clock.
        const at = (minute * 60 + 30) * 8000
        const position = Math.round(at / (1 - line.ppm / 1e6))
        const off = foundLater(left, at, 7, position)
        if (Number.isNaN(off)) continue
        foundCaller++
        expect(Math.abs(off)).toBeLessThanOrEqual(160)
      }
      // A sample that was left out or doubled, or a lost packet, hides it sometimes.
      expect(foundCaller).toBeGreaterThan(minutes * 0.6)
      expect(agentLeft.length).toBeGreaterThan(350)
      for (const { at, position } of agentLeft.filter((_, i) => i % 12 === 0)) {
        expect(Math.abs(foundLater(right, Math.round(at * 8), 9, position))).toBeLessThanOrEqual(160)
      }
      if (line.packets) expect((quality?.packetsLost ?? 0) / (minutes * 3000)).toBeCloseTo(0.02, 2)
      else expect(quality).toBeUndefined()
    },
    120_000
  )
})
