import { describe, expect, it, vi } from "@effect/vitest"
import * as fc from "fast-check"
import { DueTimes } from "../../src/transaction/DueTimes.ts"

describe("Due times", () => {
  it("give the earliest, and take what is due in the order of its time", () => {
    const times = new DueTimes()
    expect(times.earliest).toBe(Number.POSITIVE_INFINITY)
    for (const [key, at] of [["c", 30] as const, ["a", 10] as const, ["b", 20] as const]) times.set(key, at)
    expect(times.earliest).toBe(10)
    expect(times.take(20)).toEqual(["a", "b"])
    expect(times.take(20)).toEqual([])
    expect(times.earliest).toBe(30)
  })

  it("replace the time of a key, and forget a key whose time is infinite", () => {
    const times = new DueTimes()
    times.set("a", 10)
    times.set("b", 20)
    times.set("a", 30)
    expect(times.take(25)).toEqual(["b"])
    times.set("a", Number.POSITIVE_INFINITY)
    expect([times.size, times.take(100)]).toEqual([0, []])
  })

  it("move at most the logarithm of their number for each change", () => {
    const times = new DueTimes()
    for (let index = 0; index < 1024; index++) times.set(`${index}`, (index * 7919) % 1024)
    // Each move of two times sets two positions.
    const positions = vi.spyOn(Map.prototype, "set")
    times.set("500", -1)
    times.set("501", 2000)
    times.set("502", -2)
    times.take(-2)
    const moves = positions.mock.calls.length / 2
    positions.mockRestore()
    expect(moves).toBeGreaterThan(10)
    expect(moves).toBeLessThanOrEqual(4 * (Math.log2(1024) + 1))
  })

  it("agree with a list that is sorted at each question, whatever is set and deleted", () => {
    const change = fc.tuple(fc.integer({ min: 0, max: 20 }), fc.option(fc.integer({ min: 0, max: 50 })))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), fc.integer({ min: 0, max: 50 }), (changes, until) => {
        const times = new DueTimes()
        const plain = new Map<string, number>()
        for (const [number, at] of changes) {
          if (at === null) {
            times.delete(`${number}`)
            plain.delete(`${number}`)
          } else {
            times.set(`${number}`, at)
            plain.set(`${number}`, at)
          }
          expect(times.earliest).toBe(Math.min(...plain.values()))
        }
        const due = [...plain].filter(([, at]) => at <= until)
        const taken = times.take(until)
        expect(taken.map((key) => plain.get(key))).toEqual(due.map(([, at]) => at).toSorted((a, b) => a - b))
        expect(times.size).toBe(plain.size - due.length)
      })
    )
  })
})
