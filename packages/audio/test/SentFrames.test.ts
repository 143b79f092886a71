import { describe, expect, it } from "vitest"
import { SentFrames } from "../src/SentFrames.ts"

/** A frame whose sample is its number. */
const frame = (number: number) => Int16Array.of(number)

/** Sends frame n at n * 20 ms; hears one frame at each of `arrivals`. Returns what was paired with them. */
const pairs = (arrivals: ReadonlyArray<number>, until = 5000): ReadonlyArray<number | undefined> => {
  const sent = new SentFrames(1)
  const heard: Array<number | undefined> = []
  let next = 0
  for (let now = 0; now <= until; now++) {
    if (now % 20 === 0) sent.put(frame((now / 20) % 256), now)
    while (arrivals[next] === now) {
      heard.push(sent.take(now)?.[0])
      next++
    }
  }
  return heard
}

describe("SentFrames", () => {
  it("pairs a frame heard with the frame sent at the same time", () => {
    expect(pairs([200, 220, 240, 260, 285, 300]).slice(0, 6)).toEqual([10, 11, 12, 13, 14, 15])
  })

  it("has nothing for a frame that is heard while nothing is sent", () => {
    const sent = new SentFrames(1)
    expect(sent.take(100)).toBeUndefined()
    sent.put(frame(7), 120)
    expect(sent.take(120)?.[0]).toBe(7)
    expect(sent.take(140)).toBeUndefined()
  })

  it("pairs frames that arrive together with those sent while each was heard, after silence and in a running line", () => {
    const sent = new SentFrames(1)
    for (let n = 0; n < 100; n++) sent.put(frame(n), 20 * n)
    const hear = (now: number, count: number) => {
      sent.arrive(count, now)
      return Array.from({ length: count }, () => sent.take(now)?.[0])
    }
    const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)
    // Nothing was heard before.
    expect(hear(20 * 60, 16)).toEqual(numbers(45, 60))
    // Nothing was heard for a second.
    expect(hear(20 * 99, 16)).toEqual(numbers(84, 99))
    // The line went on with silence, until 16 frames with what was heard meanwhile came.
    const line = new SentFrames(1)
    for (let n = 0; n < 40; n++) {
      line.put(frame(n), 20 * n)
      line.take(20 * n)
    }
    line.arrive(16, 20 * 39)
    expect(Array.from({ length: 16 }, () => line.take(20 * 39)?.[0])).toEqual(numbers(24, 39))
    line.put(frame(40), 20 * 40)
    expect(line.take(20 * 40)?.[0]).toBe(40)
  })

  it("keeps a constant distance when frames arrive with jitter or in bursts", () => {
    const jittery = Array.from({ length: 200 }, (_, i) => 200 + 20 * i + (i % 3) * 9)
    const bursts = Array.from({ length: 200 }, (_, i) => 200 + 60 * Math.floor(i / 3))
    for (const arrivals of [jittery, bursts]) {
      const distances = pairs(arrivals, 4500).map((sent, i) => (sent ?? Number.NaN) - ((10 + i) % 256))
      const later = distances.slice(100).map((distance) => (distance + 256) % 256)
      expect(new Set(later).size).toBe(1)
    }
  })

  it("catches up within two seconds after frames were lost, and at once after a pause", () => {
    const lost = [
      ...Array.from({ length: 50 }, (_, i) => 20 * i),
      ...Array.from({ length: 150 }, (_, i) => 1060 + 20 * i)
    ]
    expect(pairs(lost).at(-1)).toBe((1060 + 20 * 149) / 20)
    expect(pairs([200, 220, 1000, 1020])).toEqual([10, 11, 50, 51])
  })

  it("keeps a copy of what was sent", () => {
    const sent = new SentFrames(1)
    const samples = frame(9)
    sent.put(samples, 40)
    samples[0] = 1
    expect(sent.take(40)?.[0]).toBe(9)
  })
})
