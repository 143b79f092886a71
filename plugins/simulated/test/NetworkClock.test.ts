import { describe, expect, it } from "@effect/vitest"
import { ManualTime } from "../src/Network/ManualTime.ts"
import { MediaClock } from "../src/Network/NetworkClock.ts"

/** A listener with work for `times` ticks, which records their times. */
const ticker = (time: ManualTime, times = Number.POSITIVE_INFINITY) => {
  const at: Array<number> = []
  return { at, tick: () => at.push(time.now()) < times }
}

const make = () => {
  const time = new ManualTime()
  return { time, clock: new MediaClock(time) }
}

describe("the media clock", () => {
  it("calls a listener at once and then every 20 ms", () => {
    const { clock, time } = make()
    const one = ticker(time)
    clock.start(one)
    time.advance(100)
    expect(one.at[0]).toBe(0)
    expect(one.at.slice(1).map((at, i, all) => at - (all[i - 1] ?? at - 20))).toEqual([20, 20, 20, 20, 20])
  })

  it("listeners that start at different times each keep a pace of 20 ms", () => {
    const { clock, time } = make()
    const many = Array.from({ length: 8 }, () => ticker(time))
    for (const one of many) {
      clock.start(one)
      time.advance(5)
    }
    time.advance(1000)
    for (const { at } of many) {
      const gaps = at.map((t, i) => t - (at[i - 1] ?? t)).slice(2)
      expect(new Set(gaps)).toEqual(new Set([20]))
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(15)
    }
  })

  it("has no timer while no listener has work", () => {
    const { clock, time } = make()
    const one = ticker(time, 3)
    clock.start(one)
    time.advance(1000)
    expect([one.at.length, clock.size, time.scheduled]).toEqual([3, 0, 0])
    clock.start(one)
    expect(one.at.length).toBe(4)
    time.advance(1000)
    expect([clock.size, time.scheduled]).toEqual([0, 0])
  })

  it("ticks are caught up after a short stall and skipped after a long one", () => {
    const { clock, time } = make()
    const one = ticker(time)
    clock.start(one)
    time.advance(20)
    time.stall(50)
    time.advance(0)
    expect(one.at.length).toBe(4)
    time.advance(30)
    const before = one.at.length
    time.stall(10_000)
    time.advance(0)
    expect(one.at.length - before).toBeLessThanOrEqual(1)
    time.advance(200)
    expect(one.at.length - before).toBeLessThanOrEqual(12)
  })

  it("mediaTime leaves out a stall between two ticks, and a stall in the tick of another listener", () => {
    const { clock, time } = make()
    const media: Array<number> = []
    const stalling = {
      tick: () => {
        if (media.length === 5) time.stall(500)
        return true
      }
    }
    clock.start(stalling)
    clock.start({ tick: () => media.push(clock.mediaTime()) > 0 })
    time.advance(180)
    expect(media.length).toBeGreaterThan(5)
    time.stall(700)
    time.advance(1000)
    expect(media.length).toBeGreaterThan(20)
    expect(new Set(media.slice(2).map((at, i) => at - (media[i + 1] ?? at)))).toEqual(new Set([20]))
  })

  it("a listener may stop itself and others during its tick", () => {
    const { clock, time } = make()
    const other = ticker(time)
    const one = {
      tick: () => {
        clock.stop(other)
        clock.stop(one)
        return true
      }
    }
    clock.start(other)
    clock.start(one)
    time.advance(100)
    expect([other.at.length, clock.size, time.scheduled]).toEqual([1, 0, 0])
  })

  it("there is one timer when the last listener starts another one during its tick", () => {
    const { clock, time } = make()
    const next = ticker(time)
    let calls = 0
    const one = {
      tick: () => {
        if (++calls < 3) return true
        clock.stop(one)
        clock.start(next)
        return false
      }
    }
    clock.start(one)
    time.advance(200)
    expect([clock.size, time.scheduled]).toEqual([1, 1])
    expect(next.at.map((at, i) => at - (next.at[i - 1] ?? at)).slice(2)).toEqual(
      Array.from({ length: next.at.length - 2 }, () => 20)
    )
  })

  it("stopAll stops every listener", () => {
    const { clock, time } = make()
    const one = ticker(time)
    clock.start(one)
    clock.stopAll()
    time.advance(100)
    expect([one.at.length, clock.size, time.scheduled]).toEqual([1, 0, 0])
  })
})
