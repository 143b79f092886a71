import { describe, expect, it } from "vitest"
import { type FrameSource, FrameWheel, Lateness } from "../../src/media/FrameWheel.ts"

/** A wheel on a clock that the test advances, and the times at which each source sent a frame. */
class Bench {
  now = 1000
  woken = 0
  readonly wheel = new FrameWheel(() => {
    this.woken++
  })

  source(frames = Number.POSITIVE_INFINITY): FrameSource & { readonly sent: Array<number> } {
    const sent: Array<number> = []
    return {
      sent,
      tick: () => {
        if (sent.length >= frames) return false
        sent.push(this.now)
        return true
      }
    }
  }

  join(source: FrameSource): void {
    this.wheel.join(source, this.now)
  }

  /** Drives the wheel as the ticker would: each time a slot is due. */
  run(ms: number): void {
    const end = this.now + ms
    while (!this.wheel.idle && this.wheel.nextDue <= end) {
      this.now = Math.max(this.now, this.wheel.nextDue)
      this.wheel.tickDueSlots(this.now, () => this.now)
    }
    this.now = end
  }
}

describe("FrameWheel", () => {
  it("lets a source send at once, then every 20 ms", () => {
    const bench = new Bench()
    const source = bench.source()
    bench.join(source)
    expect(source.sent).toEqual([1000])
    bench.run(100)
    expect(source.sent).toEqual([1000, 1020, 1040, 1060, 1080, 1100])
  })

  it("ticks a source that joins later again after 15 to 20 ms, then every 20 ms", () => {
    for (let offset = 0; offset < 20; offset++) {
      const bench = new Bench()
      bench.join(bench.source())
      bench.run(offset)
      const late = bench.source()
      bench.join(late)
      bench.run(100)
      const gaps = late.sent.slice(1).map((at, i) => at - (late.sent[i] ?? 0))
      expect(gaps[0]).toBeGreaterThanOrEqual(15)
      expect(gaps[0]).toBeLessThanOrEqual(20)
      expect(new Set(gaps.slice(1))).toEqual(new Set([20]))
    }
  })

  it("spreads sources that join at different times over the slots", () => {
    const bench = new Bench()
    const sources = Array.from({ length: 8 }, () => {
      const source = bench.source()
      bench.join(source)
      bench.run(5)
      return source
    })
    bench.run(200)
    const slots = sources.map(({ sent }) => (sent.at(-1) ?? 0) % 20)
    expect(new Set(slots).size).toBe(4)
    for (const slot of slots) expect(slots.filter((s) => s === slot).length).toBe(2)
  })

  it("skips the slots missed in a stall, and never sends two frames of a source at once", () => {
    const bench = new Bench()
    const source = bench.source()
    const other = bench.source()
    bench.join(source)
    bench.run(7)
    bench.join(other)
    bench.run(33)
    const before = [source.sent.length, other.sent.length]
    bench.now += 1000
    bench.wheel.tickDueSlots(bench.now, () => bench.now)
    expect(source.sent.length - (before[0] ?? 0) + other.sent.length - (before[1] ?? 0)).toBeLessThanOrEqual(2)
    expect(bench.wheel.skipped).toBeGreaterThan(150)
    const resumed = bench.now
    bench.run(100)
    for (const { sent } of [source, other]) {
      const after = sent.filter((at) => at > resumed)
      expect(after.length).toBe(5)
      expect(after.slice(1).map((at, i) => at - (after[i] ?? 0))).toEqual([20, 20, 20, 20])
    }
  })

  it("catches up after a pause shorter than a stall, so that no speech is lost", () => {
    const bench = new Bench()
    const source = bench.source()
    bench.join(source)
    bench.now += 60
    bench.wheel.tickDueSlots(bench.now, () => bench.now)
    expect(source.sent.length).toBe(4)
    expect(bench.wheel.skipped).toBe(0)
  })

  it("removes a source that has nothing more to send, and is idle without sources", () => {
    const bench = new Bench()
    const short = bench.source(3)
    const long = bench.source(6)
    bench.join(short)
    bench.join(long)
    bench.run(50)
    expect(bench.wheel.idle).toBe(false)
    bench.run(200)
    expect([short.sent.length, long.sent.length]).toEqual([3, 6])
    expect(bench.wheel.idle).toBe(true)
  })

  it("removes a source that has nothing to send when it joins", () => {
    const bench = new Bench()
    bench.join(bench.source(0))
    expect(bench.wheel.idle).toBe(true)
  })

  it("calls wake for the first source, and again after it was idle", () => {
    const bench = new Bench()
    const source = bench.source(2)
    bench.join(source)
    bench.join(bench.source(2))
    expect(bench.woken).toBe(1)
    bench.run(100)
    bench.join(bench.source(1))
    expect(bench.woken).toBe(2)
  })

  it("ignores a second join and a second leave", () => {
    const bench = new Bench()
    const source = bench.source()
    bench.join(source)
    bench.join(source)
    expect(source.sent.length).toBe(1)
    bench.wheel.leave(source)
    bench.wheel.leave(source)
    bench.run(100)
    expect(source.sent.length).toBe(1)
    expect(bench.wheel.idle).toBe(true)
  })

  it("allows a source to leave, or to leave and join, within its own tick", () => {
    for (const again of [false, true]) {
      const bench = new Bench()
      const others = [bench.source(), bench.source()]
      const sent: Array<number> = []
      const source: FrameSource = {
        tick: () => {
          sent.push(bench.now)
          if (sent.length !== 2) return true
          bench.wheel.leave(source)
          if (again) bench.join(source)
          return true
        }
      }
      bench.join(others[0] ?? source)
      bench.join(source)
      bench.join(others[1] ?? source)
      bench.run(100)
      // It sent at once, as after any join, and then every 20 ms; or it never sent again.
      expect(sent.length).toBe(again ? 7 : 2)
      for (const other of others) expect(other.sent).toEqual([1000, 1020, 1040, 1060, 1080, 1100])
    }
  })

  it("sends late frames in the middle of other work, and takes audio only when its slots are ticked", () => {
    const bench = new Bench()
    const outbound = bench.source()
    const inbound: FrameSource & { readonly sent: Array<number> } = { ...bench.source(), isInbound: true }
    bench.join(outbound)
    bench.join(inbound)
    bench.run(55)
    expect(bench.wheel.nextDue).toBe(1060)
    const sendLate = () => bench.wheel.sendLate(() => bench.now)
    // On time, and less than 1 ms late.
    bench.now = 1060.9
    sendLate()
    expect(outbound.sent).toEqual([1000, 1020, 1040])
    bench.now = 1083
    sendLate()
    sendLate()
    expect(outbound.sent).toEqual([1000, 1020, 1040, 1083, 1083])
    expect(inbound.sent).toEqual([1000, 1020, 1040])
    // The ticker comes for what was heard, and for frames that are due since.
    expect(bench.wheel.nextDue).toBe(1060)
    bench.now = 1101
    bench.wheel.tickDueSlots(bench.now, () => bench.now)
    expect(outbound.sent).toEqual([1000, 1020, 1040, 1083, 1083, 1101])
    expect(inbound.sent).toEqual([1000, 1020, 1040, 1101, 1101, 1101])
    expect(bench.wheel.lateness.frames).toBe(5)
  })

  it("sends late frames once when a source does other work in its tick, and skips what a stall made useless", () => {
    const bench = new Bench()
    const sent: Array<number> = []
    bench.join({
      tick: () => {
        sent.push(bench.now)
        bench.wheel.sendLate(() => bench.now)
        return true
      }
    })
    bench.now = 1030
    bench.wheel.sendLate(() => bench.now)
    expect(sent).toEqual([1000, 1030])
    bench.now = 2031
    bench.wheel.sendLate(() => bench.now)
    expect(sent).toEqual([1000, 1030])
    expect(bench.wheel.skipped).toBeGreaterThan(150)
  })

  it("keeps its time when a source fails in its tick", () => {
    const bench = new Bench()
    const source = bench.source()
    bench.join(source)
    const failing: FrameSource = {
      tick: () => {
        throw new Error("no frame")
      }
    }
    expect(() => bench.join(failing)).toThrow("no frame")
    bench.wheel.leave(failing)
    bench.now = 1030
    bench.wheel.sendLate(() => bench.now)
    expect(source.sent).toEqual([1000, 1030])
  })

  it("counts the lateness of frames", () => {
    const bench = new Bench()
    bench.join(bench.source())
    bench.run(95)
    bench.now += 10
    bench.wheel.tickDueSlots(bench.now, () => bench.now)
    expect(bench.wheel.lateness.frames).toBe(5)
    expect(bench.wheel.lateness.quantile(0.5)).toBe(0.25)
    expect(bench.wheel.lateness.quantile(1)).toBe(5.25)
    bench.wheel.lateness.reset()
    expect(bench.wheel.lateness.quantile(0.99)).toBe(0)
  })
})

describe("Lateness", () => {
  it("counts lateness beyond its scale as the maximum, and early frames as on time", () => {
    const lateness = new Lateness()
    lateness.add(-3)
    lateness.add(5000)
    expect(lateness.quantile(0.5)).toBe(0.25)
    expect(lateness.quantile(1)).toBe(64.25)
  })
})

describe("the lateness of frames", () => {
  it("counts the frames within a bound, their number and their sum", () => {
    const lateness = new Lateness()
    for (const ms of [-3, 0.9, 1, 4.9, 20, 200]) lateness.add(ms)
    expect([1, 5, 20, 64].map((bound) => lateness.within(bound))).toEqual([2, 4, 4, 5])
    expect(lateness.frames).toBe(6)
    expect(lateness.totalMs).toBeCloseTo(226.8)
    lateness.reset()
    expect([lateness.within(64), lateness.frames, lateness.totalMs]).toEqual([0, 0, 0])
  })
})
