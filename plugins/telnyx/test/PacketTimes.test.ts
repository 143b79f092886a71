import { describe, expect, it } from "@effect/vitest"
import { PacketTimes } from "../src/PacketTimes.ts"

const samples = 160

describe("PacketTimes", () => {
  it("takes the times of packets in a row from their numbers, whatever jitter the given times have", () => {
    const times = new PacketTimes()
    const given = [0, 33, 41, 70, 79]
    expect(given.map((ms, index) => times.next(index + 1, ms, samples).timestamp)).toEqual([0, 160, 320, 480, 640])
  })

  it("counts a pause in which nothing is sent, also for packets before it that come late", () => {
    const times = new PacketTimes()
    times.next(1, 0, samples)
    expect(times.next(3, 540, samples)).toEqual({ sequence: 2, timestamp: 4320 })
    expect(times.next(2, 20, samples)).toEqual({ sequence: 1, timestamp: 160 })
    expect(times.next(4, 560, samples)).toEqual({ sequence: 3, timestamp: 4480 })
  })

  it("goes on with its numbers when another stream begins", () => {
    const times = new PacketTimes()
    times.next(1, 0, samples)
    times.next(2, 20, samples)
    times.restart(500)
    expect(times.next(1, 5, samples)).toEqual({ sequence: 2, timestamp: 4320 })
    expect(times.next(2, 25, samples)).toEqual({ sequence: 3, timestamp: 4480 })
  })

  it("numbers packets of a carrier that gives no numbers", () => {
    const times = new PacketTimes()
    const packets = [undefined, undefined].map(() => times.next(undefined, undefined, samples))
    expect(packets).toEqual([
      { sequence: 0, timestamp: 0 },
      { sequence: 1, timestamp: 160 }
    ])
  })
})
