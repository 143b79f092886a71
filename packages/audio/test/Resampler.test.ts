import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { nearestRate, Resampler } from "../src/Resampler.ts"

const rates = [8000, 16_000, 22_050, 24_000, 48_000]
const pairs = rates.flatMap((from) => rates.filter((to) => to !== from).map((to) => [from, to] as const))

const sine = (hertz: number, rate: number, seconds: number, level = 10_000): Int16Array =>
  Int16Array.from({ length: Math.round(rate * seconds) }, (_, n) =>
    Math.round(level * Math.sin((2 * Math.PI * hertz * n) / rate))
  )

const whole = (input: Int16Array, from: number, to: number): Int16Array => {
  const resampler = new Resampler(from, to)
  return Int16Array.from([...resampler.push(input), ...resampler.end()])
}

/** Decibels of `signal` over the rest, without the ends, which the filter needs to settle. */
const signalToNoise = (got: Int16Array, wanted: Int16Array): number => {
  let [signal, noise] = [0, 0]
  for (let n = 200; n < wanted.length - 200; n++) {
    signal += (wanted[n] ?? 0) ** 2
    noise += ((got[n] ?? 0) - (wanted[n] ?? 0)) ** 2
  }
  return 10 * Math.log10(signal / Math.max(noise, 1e-9))
}

const level = (samples: Int16Array): number => {
  const middle = samples.subarray(200, -200)
  return Math.sqrt(middle.reduce((sum, sample) => sum + sample ** 2, 0) / middle.length)
}

describe("Resampler", () => {
  it.each(pairs)("from %i to %i Hz keeps tones below 3 kHz, in time, level and length", (from, to) => {
    for (const hertz of [100, 440, 1000, 2900]) {
      const input = sine(hertz, from, 0.25)
      const got = whole(input, from, to)
      expect(Math.abs(got.length - (input.length * to) / from)).toBeLessThanOrEqual(1)
      expect(signalToNoise(got, sine(hertz, to, 0.25))).toBeGreaterThan(55)
    }
  })

  it.each(pairs.filter(([from, to]) => from > to))("from %i to %i Hz removes what would alias", (from, to) => {
    for (const share of [0.56, 0.7, 0.9]) {
      const hertz = share * to
      if (hertz < from / 2) expect(level(whole(sine(hertz, from, 0.25), from, to))).toBeLessThan(10)
    }
  })

  it("gives the same samples whatever the chunks are", () => {
    const chunks = fc.array(fc.array(fc.integer({ min: -32_768, max: 32_767 }), { maxLength: 700 }), { maxLength: 6 })
    fc.assert(
      fc.property(chunks, fc.constantFrom(...pairs), (parts, [from, to]) => {
        const resampler = new Resampler(from, to)
        const got = parts.flatMap((part) => [...resampler.push(Int16Array.from(part))])
        expect([...got, ...resampler.end()]).toEqual([...whole(Int16Array.from(parts.flat()), from, to)])
      }),
      { numRuns: 200 }
    )
  })

  it("does not drift in a minute", () => {
    const resampler = new Resampler(22_050, 8000)
    let outputs = 0
    for (let second = 0; second < 60; second++) outputs += resampler.push(new Int16Array(22_050)).length
    outputs += resampler.end().length
    expect(Math.abs(outputs - 60 * 8000)).toBeLessThanOrEqual(1)
  })

  it("limits what is over full scale instead of wrapping it", () => {
    const square = Int16Array.from({ length: 2000 }, (_, n) => (n % 100 < 50 ? 32_767 : -32_768))
    const got = whole(square, 8000, 24_000)
    for (let n = 300; n < 5700; n++) {
      // Far from an edge the sign is that of the input.
      const place = (n / 3) % 50
      if (place > 8 && place < 42) expect(Math.sign(got[n] ?? 0)).toBe(Math.sign(square[Math.floor(n / 3)] ?? 0))
    }
  })
})

describe("nearestRate", () => {
  it("is the call's own rate, else the next higher one, else the highest", () => {
    expect(nearestRate(8000, [16_000, 8000])).toBe(8000)
    expect(nearestRate(8000, [24_000, 16_000])).toBe(16_000)
    expect(nearestRate(16_000, [8000, 11_025])).toBe(11_025)
    expect(nearestRate(8000, [])).toBe(8000)
  })
})
