import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Track } from "../../src/recording/Track.ts"

const rate = 8000
const frame = 160
const track = () => new Track({ sampleRate: rate, sampleBytes: 1, silence: 0 })
const of = (value: number, samples = frame) => new Uint8Array(samples).fill(value)
/** The positions of each value, as `value: from-to`. */
const positionsOf = (bytes: Uint8Array): ReadonlyArray<string> => {
  const runs: Array<string> = []
  for (let from = 0; from < bytes.length; ) {
    let to = from
    while (to < bytes.length && bytes[to] === bytes[from]) to++
    if (bytes[from] !== 0) runs.push(`${bytes[from]}: ${from}-${to}`)
    from = to
  }
  return runs
}

describe("Track, one side of a recording", () => {
  it("places frames at their arrival time, over silence", () => {
    const side = track()
    side.write(of(1), 800)
    side.write(of(2), 960)
    side.write(of(3), 4000)
    expect(positionsOf(side.take(rate))).toEqual(["1: 800-960", "2: 960-1120", "3: 4000-4160"])
  })

  it("keeps a run in one piece although its frames arrive slightly late", () => {
    const side = track()
    for (let i = 0; i < 10; i++) side.write(of(i + 1), 1600 + i * frame + (i % 3) * 80)
    expect(side.take(rate).subarray(1600, 3200)).toEqual(
      Uint8Array.from({ length: 1600 }, (_, i) => Math.floor(i / frame) + 1)
    )
  })

  it("places the burst after a stall where it belongs, without a gap", () => {
    const side = track()
    for (let i = 0; i < 10; i++) side.write(of(i + 1), i * frame)
    // Nothing for half a second, then all of it at once.
    for (let i = 10; i < 35; i++) side.write(of(i + 1), 34 * frame)
    for (let i = 35; i < 50; i++) side.write(of(i + 1), i * frame)
    expect(side.take(rate)).toEqual(Uint8Array.from({ length: rate }, (_, i) => Math.floor(i / frame) + 1))
  })

  it("continues across audio that was taken", () => {
    const side = track()
    const taken: Array<number> = []
    for (let i = 0; i < 500; i++) {
      side.write(of((i % 250) + 1), i * frame)
      if (i % 50 === 49 && i > 100) taken.push(...side.take((i - 99) * frame))
    }
    expect(taken.length).toBe(400 * frame)
    expect(taken.every((value, i) => value === (Math.floor(i / frame) % 250) + 1)).toBe(true)
  })

  it("returns silence for a time without frames, however long", () => {
    const side = track()
    expect(positionsOf(side.take(20 * rate))).toEqual([])
    side.write(of(1), 20 * rate + 1000)
    expect(positionsOf(side.take(21 * rate))).toEqual(["1: 1000-1160"])
  })

  it("drops audio that is sent faster than real time", () => {
    const side = track()
    for (let i = 0; i < 1000; i++) side.write(of(1), 0)
    expect(side.length).toBeLessThanOrEqual(rate + 2 * frame)
    side.write(of(2), 4 * rate)
    expect(positionsOf(side.take(5 * rate)).at(-1)).toBe(`2: ${4 * rate}-${4 * rate + frame}`)
  })

  it("never loses, duplicates or reorders real-time audio, whatever jitter the network adds", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 400 }), { minLength: 10, maxLength: 80 }), (delays) => {
        const side = track()
        let arrival = 0
        const taken: Array<number> = []
        delays.forEach((delay, i) => {
          arrival = Math.max(arrival, i * frame + delay)
          side.write(of(i + 1), arrival)
          const settled = Math.floor((arrival - 2 * rate) / rate) * rate
          if (settled > taken.length) taken.push(...side.take(settled))
        })
        taken.push(...side.take(Math.max(side.length, taken.length)))
        const heard = taken.filter((value) => value !== 0)
        expect(heard).toEqual(delays.flatMap((_, i) => new Array<number>(frame).fill(i + 1)))
      })
    )
  })

  it("supports samples of two bytes", () => {
    const side = new Track({ sampleRate: rate, sampleBytes: 2, silence: 0 })
    side.write(new Uint8Array(2 * frame).fill(7), 800)
    expect(positionsOf(side.take(rate))).toEqual(["7: 1600-1920"])
  })
})
