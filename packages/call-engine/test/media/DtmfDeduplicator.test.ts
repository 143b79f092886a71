import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DtmfDeduplicator, duplicateWindowMs } from "../../src/media/DtmfDeduplicator.ts"

type Report = readonly [digit: string, source: "rfc4733" | "in-band" | "signaling", at: number]

/** The digits that count as new. */
const heard = (reports: ReadonlyArray<Report>): string => {
  const digits = new DtmfDeduplicator()
  return reports.filter((report) => digits.isNew(...report)).reduce((keys, [key]) => keys + key, "")
}

describe("DtmfDeduplicator", () => {
  it("counts a digit once that arrives as an event and as a tone, in either order", () => {
    expect(
      heard([
        ["1", "rfc4733", 0],
        ["1", "in-band", 80],
        ["2", "in-band", 1000],
        ["2", "rfc4733", 1100],
        ["2", "signaling", 1150]
      ])
    ).toBe("12")
  })

  it("distinguishes fast repeats when each digit is reported by two sources", () => {
    expect(
      heard([
        ["1", "rfc4733", 0],
        ["1", "in-band", 60],
        ["1", "rfc4733", 120],
        ["2", "rfc4733", 160],
        ["1", "in-band", 180],
        ["2", "in-band", 220]
      ])
    ).toBe("112")
  })

  it("counts a digit that one source missed", () => {
    expect(
      heard([
        ["1", "rfc4733", 0],
        ["1", "in-band", 60],
        ["1", "in-band", 240],
        ["2", "in-band", 400]
      ])
    ).toBe("112")
  })

  it("counts every report of one digit from one source", () => {
    expect(heard([0, 1, 2, 3].map((at) => ["7", "signaling", at] as const))).toBe("7777")
  })

  it("counts a late report from another source as a new digit", () => {
    expect(
      heard([
        ["5", "rfc4733", 0],
        ["5", "in-band", duplicateWindowMs + 1]
      ])
    ).toBe("55")
  })

  it("ignores keys that telephones do not have", () => {
    expect(heard(["A", "D", "", "12", "x"].map((key) => [key, "rfc4733", 0] as const))).toBe("")
  })

  it("counts each digit once at any typing speed when two sources report each in order and in time", () => {
    const typed = fc.array(
      fc.record({
        key: fc.constantFrom(..."0123456789*#"),
        pause: fc.integer({ min: 40, max: 2000 }),
        // The detector's delay may grow and shrink, but it reports digits in order.
        delay: fc.integer({ min: 0, max: 39 })
      }),
      { maxLength: 30 }
    )
    fc.assert(
      fc.property(typed, fc.integer({ min: 0, max: duplicateWindowMs - 40 }), (keys, lag) => {
        let now = 0
        const reports = keys.flatMap(({ delay, key, pause }): ReadonlyArray<Report> => {
          now += pause
          return [
            [key, "rfc4733", now],
            [key, "in-band", now + lag + delay]
          ]
        })
        const arrived = [...reports].sort(([, , a], [, , b]) => a - b)
        expect(heard(arrived)).toBe(keys.map(({ key }) => key).join(""))
      })
    )
  })
})
