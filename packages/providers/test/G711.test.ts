import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as G711 from "../src/G711.ts"

const decodeMu = (codes: ReadonlyArray<number>): ReadonlyArray<number> => {
  const out = new Int16Array(codes.length)
  G711.mulawToPcm(Uint8Array.from(codes), 0, codes.length, out, 0)
  return [...out]
}
const encodeMu = (samples: ReadonlyArray<number>): ReadonlyArray<number> => {
  const out = new Uint8Array(samples.length)
  G711.pcmToMulaw(Int16Array.from(samples), 0, samples.length, out, 0)
  return [...out]
}
const decodeA = (codes: ReadonlyArray<number>): ReadonlyArray<number> => {
  const out = new Int16Array(codes.length)
  G711.alawToPcm(Uint8Array.from(codes), 0, codes.length, out, 0)
  return [...out]
}
const encodeA = (samples: ReadonlyArray<number>): ReadonlyArray<number> => {
  const out = new Uint8Array(samples.length)
  G711.pcmToAlaw(Int16Array.from(samples), 0, samples.length, out, 0)
  return [...out]
}
const allCodes = Array.from({ length: 256 }, (_, i) => i)
const sample = fc.integer({ min: -32_768, max: 32_767 })

describe("mu-law", () => {
  it("mulawToPcm decodes the values of ITU-T G.711 table 2a at the segment ends (14 bits, times 4)", () => {
    // Decoder output values y1, y2, y17, y33, y49, y65, y81, y97, y113, y128 and their character signals.
    const table: ReadonlyArray<readonly [number, number]> = [
      [0xff, 0],
      [0xfe, 2],
      [0xef, 33],
      [0xdf, 99],
      [0xcf, 231],
      [0xbf, 495],
      [0xaf, 1023],
      [0x9f, 2079],
      [0x8f, 4191],
      [0x80, 8031]
    ]
    for (const [code, value] of table) {
      expect(decodeMu([code, code & 0x7f])).toEqual([value * 4, value === 0 ? 0 : -value * 4])
    }
  })

  it("pcmToMulaw encodes the ITU decision values and clips louder samples", () => {
    expect(encodeMu([0, 32_767, -32_768, 32_124, -32_124, 8, -8])).toEqual([0xff, 0x80, 0x00, 0x80, 0x00, 0xfe, 0x7e])
  })

  it("pcmToMulaw inverts mulawToPcm for each code except negative zero", () => {
    for (const code of allCodes) expect(encodeMu(decodeMu([code]))).toEqual([code === 0x7f ? 0xff : code])
  })

  it("the encoding error is at most half a quantization step", () => {
    fc.assert(
      fc.property(sample, (s) => {
        const back = decodeMu(encodeMu([s]))[0] ?? Number.NaN
        const clipped = Math.max(-32_635, Math.min(32_635, s))
        expect(Math.abs(back - clipped)).toBeLessThanOrEqual((Math.abs(clipped) + 132) / 32)
      })
    )
  })
})

describe("A-law", () => {
  it("alawToPcm decodes the values of ITU-T G.711 table 1a at the segment ends (13 bits, times 8)", () => {
    // Decoder output values y1, y2, y17, y33, y49, y65, y81, y97, y113, y128; character signals with the even bits
    // inverted.
    const table: ReadonlyArray<readonly [number, number]> = [
      [0x80, 1],
      [0x81, 3],
      [0x90, 33],
      [0xa0, 66],
      [0xb0, 132],
      [0xc0, 264],
      [0xd0, 528],
      [0xe0, 1056],
      [0xf0, 2112],
      [0xff, 4032]
    ]
    for (const [signal, value] of table) {
      const code = signal ^ 0x55
      expect(decodeA([code, code ^ 0x80])).toEqual([value * 8, -value * 8])
    }
  })

  it("pcmToAlaw encodes zero, -1 and the loudest samples", () => {
    expect(encodeA([0, -1, 32_767, -32_768])).toEqual([0xd5, 0x55, 0xaa, 0x2a])
  })

  it("pcmToAlaw inverts alawToPcm for each code", () => {
    for (const code of allCodes) expect(encodeA(decodeA([code]))).toEqual([code])
  })

  it("the encoding error is at most half a quantization step", () => {
    fc.assert(
      fc.property(sample, (s) => {
        const back = decodeA(encodeA([s]))[0] ?? Number.NaN
        expect(Math.abs(back - s)).toBeLessThanOrEqual(Math.max(8, Math.abs(s) / 32 + 1))
      })
    )
  })
})

describe("both encodings", () => {
  it("only the given range of the output is written", () => {
    const out = new Int16Array(4).fill(7)
    G711.mulawToPcm(Uint8Array.of(0, 0x80, 0, 0), 1, 1, out, 2)
    expect([...out]).toEqual([7, 7, 32_124, 7])
    const bytes = new Uint8Array(4).fill(9)
    G711.pcmToAlaw(Int16Array.of(5, 0, 5, 5), 1, 1, bytes, 2)
    expect([...bytes]).toEqual([9, 9, 0xd5, 9])
  })

  it("mulawSilence and alawSilence decode to at most the smallest step", () => {
    expect(decodeMu([G711.mulawSilence])).toEqual([0])
    expect(decodeA([G711.alawSilence])).toEqual([8])
  })
})
