import { describe, expect, it } from "@effect/vitest"
import { PacketTimes } from "../src/PacketTimes.ts"

const places = (packets: ReadonlyArray<readonly [chunk: number, ms: number]>) => {
  const times = new PacketTimes(8000)
  return packets.map(([chunk, ms]) => times.place(chunk, ms, 160).timestamp)
}

describe("PacketTimes", () => {
  it("lets packets follow each other although their times are not exact", () => {
    expect(
      places([
        [1, 3],
        [2, 26],
        [3, 41],
        [4, 66]
      ])
    ).toEqual([24, 184, 344, 504])
  })

  it("leaves room for packets that are missing or late, and takes pauses from the times", () => {
    expect(
      places([
        [1, 0],
        [3, 42],
        [2, 20],
        [4, 61],
        [5, 560],
        [6, 580]
      ])
    ).toEqual([0, 320, 160, 480, 4480, 4640])
  })

  it("wraps at 2^32", () => {
    const hours = (2 ** 32 + 1600) / 8
    expect(places([[7, hours]])).toEqual([1600])
    const times = new PacketTimes(8000)
    times.place(2, 0, 160)
    expect(times.place(1, 0, 160)).toEqual({ sequence: 1, timestamp: 2 ** 32 - 160 })
  })

  it("goes on after the last packet when another stream begins", () => {
    const times = new PacketTimes(8000)
    expect(times.place(70_000, 100, 160)).toEqual({ sequence: 70_000 - 65_536, timestamp: 800 })
    times.restart(500)
    expect(times.place(1, 0, 160)).toEqual({ sequence: 70_001 - 65_536, timestamp: 4800 })
    expect(times.place(2, 21, 160)).toEqual({ sequence: 70_002 - 65_536, timestamp: 4960 })
    times.restart(0)
    expect(times.place(5, 7, 160)).toEqual({ sequence: 70_003 - 65_536, timestamp: 5120 })
  })
})
