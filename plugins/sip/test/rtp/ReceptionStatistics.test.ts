import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ReceptionStatistics } from "../../src/rtp/ReceptionStatistics.ts"

/** Packets of 20 ms, by number; `delay` in ms. */
const statisticsOf = (numbers: ReadonlyArray<number>, delay: (number: number) => number = () => 0) => {
  const statistics = new ReceptionStatistics(8000)
  for (const number of numbers) {
    statistics.add(number & 0xffff, (number * 160) >>> 0, number * 20 + delay(number))
  }
  return statistics
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe("the statistics of a received stream", () => {
  it("know what was lost, over the wrap of the sequence number", () => {
    const numbers = range(65_500, 65_600).filter((number) => number % 10 !== 3)
    const statistics = statisticsOf(numbers)
    expect(statistics.lost).toBe(10)
    expect(statistics.cumulativeLost).toBe(10)
    expect(statistics.highestSequence).toBe(65_599)
  })

  it("count a packet that comes twice in RTCP's figure, and not as a negative loss of the call", () => {
    const statistics = statisticsOf([1, 2, 2, 3])
    expect(statistics.cumulativeLost).toBe(-1)
    expect(statistics.lost).toBe(0)
  })

  it("give the share that was lost between two reports", () => {
    const statistics = statisticsOf(range(0, 100))
    expect(statistics.takeFractionLost()).toBe(0)
    for (const number of range(100, 200)) if (number % 4 !== 0) statistics.addUntimed(number)
    expect(statistics.takeFractionLost()).toBe(64)
    expect(statistics.takeFractionLost()).toBe(0)
  })

  it("have no jitter with a constant delay, and that of RFC 3550 with a changing one", () => {
    expect(statisticsOf(range(0, 200), () => 35).jitter).toBe(0)
    // Each transit differs by 10 ms from the one before it, to which the estimate converges.
    const statistics = statisticsOf(range(0, 400), (number) => (number % 2) * 10)
    expect(statistics.jitter).toBe(80)
    expect(statistics.jitterMs).toBeCloseTo(10)
  })

  it("take the first step of the jitter as RFC 3550 does: a sixteenth of the difference", () => {
    const statistics = statisticsOf([0, 1], (number) => number * 8)
    expect(statistics.jitterMs).toBeCloseTo(0.5)
  })

  it("do not know the jitter of one packet, nor of packets without a time", () => {
    expect(statisticsOf([7]).jitterMs).toBeNull()
    const statistics = new ReceptionStatistics(8000)
    statistics.addUntimed(1)
    statistics.addUntimed(2)
    expect(statistics.jitterMs).toBeNull()
  })

  it("keep the jitter over the wrap of the timestamp, and over a pause", () => {
    const statistics = new ReceptionStatistics(8000)
    const from = 0xffff_ffff - 800
    for (const number of range(0, 50)) statistics.add(number, (from + number * 160) >>> 0, number * 20)
    statistics.add(50, (from + 9000 * 160) >>> 0, 9000 * 20)
    expect(statistics.jitter).toBe(0)
    expect(statistics.late).toBe(0)
  })

  it("count as late what comes after audio that is more than 60 ms newer", () => {
    expect(statisticsOf([0, 1, 2, 4, 3, 5]).late).toBe(0)
    const statistics = statisticsOf([0, 1, 2, 4, 5, 6, 7, 3])
    expect(statistics.late).toBe(1)
    expect(statistics.lost).toBe(0)
  })

  it("drop a packet that fits no stream, and begin anew with two in order", () => {
    const statistics = statisticsOf([...range(0, 100).filter((number) => number !== 50)])
    expect(statistics.add(30_000, 0, 2000)).toBe(false)
    expect(statistics.add(100, 16_000, 2000)).toBe(true)
    expect(statistics.add(40_000, 0, 2020)).toBe(false)
    expect(statistics.add(40_001, 160, 2040)).toBe(true)
    expect(statistics.add(40_002, 320, 2060)).toBe(true)
    expect(statistics.lost).toBe(1)
    expect(statistics.highestSequence).toBe(40_002)
  })

  it("find exactly the packets that were lost, in any order within 50", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 0xffff }),
        fc.array(fc.record({ isLost: fc.boolean(), behind: fc.integer({ min: 0, max: 20 }) }), {
          minLength: 2,
          maxLength: 300
        }),
        (first, fates) => {
          const arrived = fates
            .map((fate, index) => ({ ...fate, index, at: index + fate.behind }))
            .filter(({ index, isLost }) => !isLost || index === 0 || index === fates.length - 1)
            .sort((one, other) => one.at - other.at)
          // The first and the newest say how many there are.
          const start = arrived.findIndex(({ index }) => index === 0)
          const [head] = arrived.splice(start, 1)
          const statistics = new ReceptionStatistics(8000)
          for (const { index } of head === undefined ? [] : [head, ...arrived]) {
            statistics.add((first + index) & 0xffff, (index * 160) >>> 0, index * 20)
          }
          expect(statistics.lost).toBe(fates.length - arrived.length - 1)
        }
      )
    )
  })
})
