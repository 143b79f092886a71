import { describe, expect, it } from "@effect/vitest"
import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import * as fc from "fast-check"
import { DtmfDetector } from "../src/DtmfDetector.ts"
import { recordings } from "../src/testing/Recordings.ts"

const lows = [697, 770, 852, 941]
const highs = [1209, 1336, 1477, 1633]
const keys = "123A456B789C*0#D"

/** The amplitude of a sine of this level in dBm0. */
const amplitude = (dbm0: number) => 32_124 * 10 ** ((dbm0 - 3.14) / 20)

interface Press {
  readonly key: string
  readonly on: number
  readonly off: number
  /** Levels of the two tones in dBm0. */
  readonly low: number
  readonly high: number
  /** Deviation of the frequencies. */
  readonly shift?: number
}

/** Samples of the presses, times in ms. */
const sound = (presses: ReadonlyArray<Press>, rate = 8000, lead = 37): Float32Array => {
  const parts: Array<Float32Array> = [new Float32Array(Math.round((lead * rate) / 1000))]
  for (const { high, key, low, off, on, shift = 1 } of presses) {
    const index = keys.indexOf(key)
    const [one, two] = [lows[index >> 2] ?? 0, highs[index & 3] ?? 0]
    const tone = (n: number) =>
      amplitude(low) * Math.sin((2 * Math.PI * one * shift * n) / rate) +
      amplitude(high) * Math.sin((2 * Math.PI * two * shift * n) / rate + 1)
    parts.push(Float32Array.from({ length: Math.round((on * rate) / 1000) }, (_, n) => tone(n)))
    parts.push(new Float32Array(Math.round((off * rate) / 1000)))
  }
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const pcmOf = (signal: Float32Array): Int16Array =>
  Int16Array.from(signal, (x) => Math.max(-32_768, Math.min(32_767, Math.round(x))))

/** As it comes over the telephone. */
const throughMulaw = (pcm: Int16Array): Int16Array => {
  const bytes = new Uint8Array(pcm.length)
  pcmToMulaw(pcm, 0, pcm.length, bytes, 0)
  const out = new Int16Array(pcm.length)
  mulawToPcm(bytes, 0, bytes.length, out, 0)
  return out
}

const detect = (pcm: Int16Array, rate = 8000): string => {
  const detector = new DtmfDetector(rate)
  let found = ""
  for (let at = 0; at < pcm.length; at += rate / 50) found += detector.push(pcm.subarray(at, at + rate / 50))
  return found + detector.push(new Int16Array(rate / 10))
}

const all = (press: Omit<Press, "key">): ReadonlyArray<Press> => [...keys].map((key) => ({ ...press, key }))

/** Seeded white noise. */
const noisy = (signal: Float32Array, level: number): Float32Array => {
  let seed = 12_345
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff
    return (seed / 0x7fff_ffff - 0.5) * Math.sqrt(12)
  }
  return signal.map((x) => x + next() * level)
}

describe("DtmfDetector", () => {
  it.each([
    ["100 ms at -10 dBm0", { on: 100, off: 100, low: -10, high: -10 }],
    ["40 ms on and off", { on: 40, off: 40, low: -10, high: -10 }],
    ["at -25 dBm0", { on: 40, off: 40, low: -25, high: -25 }],
    ["at 0 dBm0", { on: 40, off: 40, low: 0, high: 0 }],
    ["with the high tone 4 dB stronger", { on: 40, off: 40, low: -14, high: -10 }],
    ["with the high tone 8 dB weaker", { on: 40, off: 40, low: -10, high: -18 }],
    ["1.5 % too low", { on: 50, off: 50, low: -10, high: -10, shift: 0.985 }],
    ["1.5 % too high", { on: 50, off: 50, low: -10, high: -10, shift: 1.015 }],
    ["pressed for 3 s", { on: 3000, off: 60, low: -10, high: -10 }]
  ])("finds all 16 digits once and in order: %s", (_, press) => {
    expect(detect(throughMulaw(pcmOf(sound(all(press)))))).toBe(keys)
    expect(detect(pcmOf(sound(all(press), 16_000)), 16_000)).toBe(keys)
  })

  it("finds each digit of 40 ms wherever it begins, at any level, twist and deviation that telephones may have", () => {
    for (const [low, high, shift] of [
      [-25, -25, 0.985],
      [-17, -25, 1.015],
      [-10, -10, 0.985],
      [-4, 0, 1],
      [0, -8, 1.015]
    ] as const) {
      for (let lead = 37; lead < 57; lead += 1.875) {
        const found = [...keys].map((key) =>
          detect(throughMulaw(pcmOf(sound([{ key, on: 40, off: 60, low, high, shift }], 8000, lead))))
        )
        expect([low, high, shift, lead, found.join(" ")]).toEqual([low, high, shift, lead, [...keys].join(" ")])
      }
    }
  })

  it("finds them wherever they begin, in any order, one pressed twice too", () => {
    const press = fc.record({ key: fc.constantFrom(...keys), on: fc.integer({ min: 40, max: 120 }) })
    fc.assert(
      fc.property(fc.array(press, { maxLength: 6 }), fc.integer({ min: 0, max: 40 }), (presses, lead) => {
        const signal = sound(
          presses.map(({ key, on }) => ({ key, on, off: 40, low: -8, high: -6 })),
          8000,
          lead
        )
        expect(detect(throughMulaw(pcmOf(signal)))).toBe(presses.map(({ key }) => key).join(""))
      }),
      { numRuns: 100 }
    )
  })

  it("finds them in noise 15 dB below them", () => {
    const signal = sound(all({ on: 60, off: 60, low: -10, high: -10 }))
    expect(detect(throughMulaw(pcmOf(noisy(signal, amplitude(-10) * 10 ** (-15 / 20)))))).toBe(keys)
  })

  it("finds none in tones that are too short, too faint, too unequal, alone, or beside the frequencies", () => {
    const none = (press: Omit<Press, "key">) => expect(detect(pcmOf(sound(all(press))))).toBe("")
    none({ on: 20, off: 60, low: -10, high: -10 })
    none({ on: 100, off: 60, low: -35, high: -35 })
    none({ on: 100, off: 60, low: -20, high: -8 })
    none({ on: 100, off: 60, low: -8, high: -22 })
    none({ on: 100, off: 60, low: -10, high: -90 })
    none({ on: 100, off: 60, low: -10, high: -10, shift: 1.06 })
  })

  it("counts a tone with a gap of 10 ms as one digit", () => {
    const press = { key: "5", low: -10, high: -10 }
    expect(
      detect(
        pcmOf(
          sound([
            { ...press, on: 60, off: 10 },
            { ...press, on: 60, off: 60 }
          ])
        )
      )
    ).toBe("5")
  })

  it("finds none in speech, at any level", () => {
    for (const gain of [2000, 6000, 12_000]) {
      for (const { signal } of recordings("callers")) {
        expect(detect(throughMulaw(pcmOf(signal.map((x) => x * gain))))).toBe("")
      }
    }
  })
})
