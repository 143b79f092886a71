import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DtmfDeduplicator, sameMs } from "../../src/session/DtmfDeduplicator.ts"

type Report = readonly [key: string, source: "rfc4733" | "in-band" | "signaling", at: number]

/** The keys that count, of what was reported. */
const heard = (reports: ReadonlyArray<Report>): string => {
  const presses = new DtmfDeduplicator()
  return reports.filter((report) => presses.isNew(...report)).reduce((keys, [key]) => keys + key, "")
}

describe("key presses", () => {
  it("that come as an event and as a tone count once, whichever is sooner", () => {
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

  it("that follow each other fast are told apart when each comes twice", () => {
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

  it("that one of the ways missed count all the same", () => {
    expect(
      heard([
        ["1", "rfc4733", 0],
        ["1", "in-band", 60],
        ["1", "in-band", 240],
        ["2", "in-band", 400]
      ])
    ).toBe("112")
  })

  it("of one key by one way are as many as were reported", () => {
    expect(heard([0, 1, 2, 3].map((at) => ["7", "signaling", at] as const))).toBe("7777")
  })

  it("by another way count as new when they come late", () => {
    expect(
      heard([
        ["5", "rfc4733", 0],
        ["5", "in-band", sameMs + 1]
      ])
    ).toBe("55")
  })

  it("of keys that phones do not have do not count", () => {
    expect(heard(["A", "D", "", "12", "x"].map((key) => [key, "rfc4733", 0] as const))).toBe("")
  })

  it("typed at any speed count once each, when both ways report each in order and within time", () => {
    const typed = fc.array(
      fc.record({
        key: fc.constantFrom(..."0123456789*#"),
        pause: fc.integer({ min: 40, max: 2000 }),
        // The detector's delay may grow and shrink, but it tells presses in their order.
        delay: fc.integer({ min: 0, max: 39 })
      }),
      { maxLength: 30 }
    )
    fc.assert(
      fc.property(typed, fc.integer({ min: 0, max: sameMs - 40 }), (keys, lag) => {
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
