import { describe, expect, it } from "vitest"
import { JitterBuffer } from "../page/JitterBuffer.js"
import { Resampler } from "../page/Resampler.js"

const tone = (hz: number, rate: number, seconds: number) =>
  Float32Array.from({ length: Math.round(rate * seconds) }, (_, n) => Math.sin((2 * Math.PI * hz * n) / rate))

const converted = (samples: Float32Array, from: number, to: number, chunk = 128): ReadonlyArray<number> => {
  const resampler = new Resampler(from, to)
  const output: Array<number> = []
  for (let at = 0; at < samples.length; at += chunk) {
    resampler.push(samples.subarray(at, at + chunk), (sample: number) => void output.push(sample))
  }
  return output
}

const power = (samples: ReadonlyArray<number>) =>
  samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length

describe("The page's resampler", () => {
  it("keeps tones that both rates carry, at their level and without noise", () => {
    for (const [from, to] of [
      [48_000, 16_000],
      [44_100, 16_000],
      [16_000, 48_000],
      [16_000, 44_100],
      [8000, 16_000],
      [16_000, 16_000]
    ] as const) {
      for (const hz of [200, 1000, 3000]) {
        const output = converted(tone(hz, from, 0.5), from, to).slice(500)
        expect([from, to, hz, Math.abs(output.length + 500 - to / 2) < 60]).toEqual([from, to, hz, true])
        // What is left when the tone itself is taken out.
        let [re, im] = [0, 0]
        output.forEach((sample, n) => {
          re += sample * Math.cos((2 * Math.PI * hz * n) / to)
          im += sample * Math.sin((2 * Math.PI * hz * n) / to)
        })
        const [a, b] = [(2 * re) / output.length, (2 * im) / output.length]
        const rest = output.map(
          (sample, n) => sample - a * Math.cos((2 * Math.PI * hz * n) / to) - b * Math.sin((2 * Math.PI * hz * n) / to)
        )
        expect([from, to, hz, Math.abs(Math.hypot(a, b) - 1) < 0.02]).toEqual([from, to, hz, true])
        expect([from, to, hz, 10 * Math.log10(power(rest) / power(output)) < -40]).toEqual([from, to, hz, true])
      }
    }
  })

  it("takes out tones that the lower rate does not carry", () => {
    for (const hz of [9500, 12_000, 20_000]) {
      expect(10 * Math.log10(power(converted(tone(hz, 48_000, 0.5), 48_000, 16_000)) / 0.5)).toBeLessThan(-40)
    }
  })

  it("gives the same for chunks of any length", () => {
    const samples = tone(700, 44_100, 0.3)
    const whole = converted(samples, 44_100, 16_000, samples.length)
    for (const chunk of [1, 100, 441, 5000]) {
      const output = converted(samples, 44_100, 16_000, chunk)
      expect(output).toHaveLength(whole.length)
      // Positions are rounded differently.
      expect(Math.max(...output.map((sample, n) => Math.abs(sample - (whole[n] ?? 0))))).toBeLessThan(0.0001)
    }
  })
})

const frameOf = (value: number) => new Int16Array(320).fill(value)
/** Reads some milliseconds. */
const read = (buffer: JitterBuffer, ms: number): ReadonlyArray<number> =>
  Array.from({ length: ms * 16 }, () => buffer.next() * 32_768)
const values = (samples: ReadonlyArray<number>) => [...new Set(samples.filter((value) => value !== 0))]

describe("The page's jitter buffer", () => {
  it("plays every sample once and in order, after 60 ms", () => {
    const buffer = new JitterBuffer()
    buffer.push(frameOf(1000))
    buffer.push(frameOf(2000))
    expect(values(read(buffer, 40))).toEqual([])
    buffer.push(frameOf(3000))
    const played = read(buffer, 60)
    expect(played.filter((value) => value === 1000)).toHaveLength(320)
    expect(played.filter((value) => value === 3000)).toHaveLength(320)
    expect(values(played)).toEqual([1000, 2000, 3000])
  })

  it("plays a stretch that is shorter than its delay", () => {
    const buffer = new JitterBuffer()
    buffer.push(frameOf(1000))
    expect(read(buffer, 100).filter((value) => value === 1000)).toHaveLength(320)
  })

  it("keeps more waiting after the network was late, up to 240 ms, and fades instead of clicking", () => {
    const buffer = new JitterBuffer()
    const startOf = () => {
      for (let n = 0; n < 20; n++) buffer.push(frameOf(5000))
      const samples = read(buffer, 400)
      return samples.indexOf(5000)
    }
    expect(startOf()).toBe(0)
    // It runs out; the next frame is 50 ms late.
    const dry = read(buffer, 50)
    expect(dry[0]).toBeLessThan(5000)
    expect(dry.every((value, n) => n === 0 || Math.abs(value - (dry[n - 1] ?? 0)) < 100)).toBe(true)
    for (let n = 0; n < 4; n++) buffer.push(frameOf(7000))
    expect(buffer.delay).toBe(80 * 16)
    for (let late = 0; late < 20; late++) {
      read(buffer, 300)
      read(buffer, 100)
      buffer.push(frameOf(1))
      read(buffer, 300)
      buffer.push(frameOf(1))
    }
    expect(buffer.delay).toBeLessThanOrEqual(240 * 16)
  })

  it("reaches a mark when all audio before it was read, also one after silence", () => {
    const buffer = new JitterBuffer()
    buffer.mark("first")
    expect(buffer.reached()).toEqual(["first"])
    for (let n = 0; n < 5; n++) buffer.push(frameOf(1))
    buffer.mark("second")
    read(buffer, 99)
    expect(buffer.reached()).toEqual([])
    read(buffer, 1)
    expect(buffer.reached()).toEqual(["second"])
    expect(buffer.reached()).toEqual([])
  })

  it("plays nothing of what was cleared, reaches none of its marks, and plays what comes after", () => {
    const buffer = new JitterBuffer()
    for (let n = 0; n < 10; n++) buffer.push(frameOf(1000))
    buffer.mark("dropped")
    read(buffer, 50)
    buffer.clear()
    expect(read(buffer, 20).filter((value) => value === 1000)).toEqual([])
    for (let n = 0; n < 3; n++) buffer.push(frameOf(2000))
    buffer.mark("kept")
    expect(read(buffer, 70).filter((value) => value === 2000)).toHaveLength(960)
    expect(buffer.reached()).toEqual(["kept"])
  })
})
