import { codecOf } from "@svc/audio/Codec"
import { type AudioFormat, frameBytes, frameSamples, mulaw8k } from "@svc/providers/Audio"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { beforeEach, describe, expect, it } from "vitest"
import { FrameWheel } from "../../src/media/FrameWheel.ts"
import { LegBridge } from "../../src/media/LegBridge.ts"

const pcm16k: AudioFormat = { encoding: "pcm16", sampleRate: 16_000 }

/** A leg that records what it is sent, with the times. */
class Leg {
  readonly frames: Array<{ readonly at: number; readonly bytes: Uint8Array }> = []
  digits = ""
  readonly holds: Array<boolean> = []
  readonly leg: CallLeg
  readonly format: AudioFormat

  constructor(format: AudioFormat, now: () => number) {
    this.format = format
    this.leg = {
      format,
      listen: () => {},
      send: (frame) => void this.frames.push({ at: now(), bytes: frame.slice() }),
      mark: () => {},
      clear: () => {},
      hangup: () => {},
      sendDtmf: (digits) => {
        this.digits += digits
      },
      hold: (on) => void this.holds.push(on)
    }
  }

  get pcm(): Int16Array {
    const samples = frameSamples(this.format)
    const all = new Int16Array(samples * this.frames.length)
    for (const [n, { bytes }] of this.frames.entries()) codecOf(this.format).decode(bytes, 0, samples, all, n * samples)
    return all
  }
}

/** Two legs that are joined, in manual time. */
class Bench {
  now = 0
  readonly wheel: FrameWheel
  readonly one: Leg
  readonly other: Leg
  readonly bridge: LegBridge

  /** `pairFrom`: see {@link FrameWheel}. */
  constructor(one: AudioFormat = mulaw8k, other: AudioFormat = mulaw8k, pairFrom?: number) {
    this.wheel = new FrameWheel(() => {}, pairFrom)
    const now = () => this.now
    this.one = new Leg(one, now)
    this.other = new Leg(other, now)
    this.bridge = new LegBridge(this.one.leg, this.other.leg, { wheel: this.wheel, now })
  }

  run(ms: number): void {
    const until = this.now + ms
    while (!this.wheel.idle && this.wheel.nextDue <= until) {
      this.now = this.wheel.nextDue
      this.wheel.tickDueSlots(this.now, () => this.now)
    }
    this.now = until
  }
}

/** A tone in frames of a format. */
const tone = (format: AudioFormat, hertz: number, frames: number): ReadonlyArray<Uint8Array> => {
  const samples = frameSamples(format)
  return Array.from({ length: frames }, (_, n) => {
    const pcm = Int16Array.from({ length: samples }, (_unused, i) =>
      Math.round(8000 * Math.sin((2 * Math.PI * hertz * (n * samples + i)) / format.sampleRate))
    )
    const bytes = new Uint8Array(frameBytes(format))
    codecOf(format).encode(pcm, 0, samples, bytes, 0)
    return bytes
  })
}

/** Upward zero crossings per second. */
const frequencyOf = (pcm: Int16Array, sampleRate: number): number => {
  let crossings = 0
  for (let n = 1; n < pcm.length; n++) if ((pcm[n - 1] ?? 0) < 0 && (pcm[n] ?? 0) >= 0) crossings++
  return (crossings * sampleRate) / pcm.length
}

const audio = (payload: Uint8Array): CallEvent => ({ _tag: "Audio", payload })

describe("two legs that the engine joins", () => {
  let b = new Bench()
  beforeEach(() => {
    b = new Bench()
  })

  it("hear each other, unchanged in the same format, one frame every 20 ms", () => {
    const [mine, theirs] = [tone(mulaw8k, 440, 50), tone(mulaw8k, 700, 50)]
    for (const [n, frame] of mine.entries()) {
      b.bridge.fromOne(audio(frame))
      b.bridge.fromOther(audio(theirs[n] ?? frame))
      b.run(20)
    }
    const bytesOf = (leg: Leg) => Buffer.concat(leg.frames.map(({ bytes }) => bytes)).subarray(0, 45 * 160)
    expect(bytesOf(b.other)).toEqual(Buffer.concat(mine).subarray(0, 45 * 160))
    expect(bytesOf(b.one)).toEqual(Buffer.concat(theirs).subarray(0, 45 * 160))
    const gaps = b.other.frames.slice(1, 45).map(({ at }, n) => at - (b.other.frames[n]?.at ?? 0))
    expect(new Set(gaps.map((gap) => Math.round(gap / 5) * 5))).toEqual(new Set([20]))
    expect(b.other.frames[0]?.at).toBeLessThanOrEqual(60)
  })

  it("hear each other without gaps beside many other calls, also when packets are up to 15 ms late", () => {
    const c = new Bench(mulaw8k, mulaw8k, 1)
    const frames = tone(mulaw8k, 440, 100)
    for (const [n, frame] of frames.entries()) {
      const late = [0, 15, 5, 10][n % 4] ?? 0
      c.run(n * 20 + late - c.now)
      c.bridge.fromOne(audio(frame))
    }
    const gaps = c.other.frames.slice(1).map(({ at }, n) => at - (c.other.frames[n]?.at ?? 0))
    expect(gaps.length).toBeGreaterThan(90)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(25)
  })

  it("hear each other when their formats and rates differ", () => {
    const c = new Bench(mulaw8k, pcm16k)
    const [up, down] = [tone(mulaw8k, 440, 100), tone(pcm16k, 700, 100)]
    for (let n = 0; n < 100; n++) {
      c.bridge.fromOne(audio(up[n] ?? new Uint8Array()))
      c.bridge.fromOther(audio(down[n] ?? new Uint8Array()))
      c.run(20)
    }
    expect(c.other.frames.every(({ bytes }) => bytes.length === 640)).toBe(true)
    expect(c.one.frames.every(({ bytes }) => bytes.length === 160)).toBe(true)
    expect(frequencyOf(c.other.pcm.subarray(1600, 28_800), 16_000)).toBeCloseTo(440, -1)
    expect(frequencyOf(c.one.pcm.subarray(800, 14_400), 8000)).toBeCloseTo(700, -1)
  })

  it("hear packets in order that the network reordered and delivered in bursts", () => {
    const frames = tone(mulaw8k, 440, 60)
    const packet = (n: number): CallEvent => ({
      _tag: "Audio",
      payload: frames[n] ?? new Uint8Array(160),
      sequence: (65_500 + n) & 0xffff,
      timestamp: (4_294_960_000 + n * 160) >>> 0
    })
    for (let n = 0; n < 60; n += 2) {
      b.bridge.fromOne(packet(n + 1))
      b.bridge.fromOne(packet(n))
      b.run(40)
    }
    expect(frequencyOf(b.other.pcm.subarray(1600, 8000), 8000)).toBeCloseTo(440, -1)
    const played = Buffer.concat(b.other.frames.map(({ bytes }) => bytes))
    const part = Buffer.concat(frames.slice(20, 40))
    expect(played.includes(part)).toBe(true)
  })

  it("keep little audio waiting: of a burst the newest is heard, at the usual pace", () => {
    const frames = tone(mulaw8k, 440, 200)
    for (const frame of frames) b.bridge.fromOne(audio(frame))
    b.run(2000)
    const sent = b.other.frames.filter(({ bytes }) => frames.some((frame) => Buffer.compare(frame, bytes) === 0))
    expect(sent.length).toBeGreaterThan(1)
    expect(sent.length).toBeLessThanOrEqual(21)
    expect(Buffer.compare(sent.at(-1)?.bytes ?? Buffer.alloc(0), frames.at(-1) ?? Buffer.alloc(1))).toBe(0)
  })

  it("follow a sender whose clock is fast, without a growing delay", () => {
    const frames = tone(mulaw8k, 400, 3000)
    for (const frame of frames) {
      b.bridge.fromOne(audio(frame))
      b.run(19)
    }
    const rest = b.other.frames.length
    b.run(500)
    expect(b.other.frames.length - rest).toBeLessThanOrEqual(25)
  })

  it("hear comfort noise when a line stops, then nothing, and nothing runs on", () => {
    for (const frame of tone(mulaw8k, 440, 10)) {
      b.bridge.fromOne(audio(frame))
      b.run(20)
    }
    b.run(1000)
    expect(b.other.frames.length).toBeGreaterThan(50)
    b.run(10_000)
    expect(b.wheel.idle).toBe(true)
    const before = b.other.frames.length
    for (const frame of tone(mulaw8k, 440, 10)) {
      b.bridge.fromOne(audio(frame))
      b.run(20)
    }
    expect(b.other.frames.length).toBeGreaterThan(before + 5)
  })

  it("send digits on once that are not in the audio", () => {
    b.bridge.fromOne({ _tag: "Dtmf", digit: "1", source: "rfc4733" })
    b.bridge.fromOne({ _tag: "Dtmf", digit: "1", source: "signaling" })
    b.run(1000)
    b.bridge.fromOne({ _tag: "Dtmf", digit: "2", source: "signaling" })
    b.bridge.fromOne({ _tag: "Dtmf", digit: "3", source: "in-band" })
    b.bridge.fromOther({ _tag: "Dtmf", digit: "9", source: "rfc4733" })
    expect([b.other.digits, b.one.digits]).toEqual(["12", "9"])
  })

  it("put each other on hold, and take each other back", () => {
    b.bridge.fromOne({ _tag: "Hold", on: true })
    b.bridge.fromOne({ _tag: "Hold", on: false })
    b.bridge.fromOther({ _tag: "Hold", on: true })
    expect([b.other.holds, b.one.holds]).toEqual([[true, false], [true]])
  })

  it("send nothing to a leg whose network carries no audio, and what is said later when it does again", () => {
    const frames = tone(mulaw8k, 440, 40)
    b.bridge.fromOther({ _tag: "Media", on: false })
    for (const frame of frames.slice(0, 20)) {
      b.bridge.fromOne(audio(frame))
      b.run(20)
    }
    expect(b.other.frames).toEqual([])
    b.bridge.fromOther({ _tag: "Media", on: true })
    for (const frame of frames.slice(20)) {
      b.bridge.fromOne(audio(frame))
      b.run(20)
    }
    expect(b.other.frames[0]?.bytes).toEqual(frames[20])
  })

  it("hear nothing more once it is stopped", () => {
    for (const frame of tone(mulaw8k, 440, 5)) b.bridge.fromOne(audio(frame))
    b.bridge.stop()
    const before = b.other.frames.length
    b.bridge.fromOne(audio(tone(mulaw8k, 440, 1)[0] ?? new Uint8Array()))
    b.run(1000)
    expect([b.other.frames.length, b.wheel.idle]).toEqual([before, true])
  })
})
