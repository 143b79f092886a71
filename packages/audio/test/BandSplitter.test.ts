import { expect, it } from "@effect/vitest"
import { BandSplitter, frameLength } from "../src/SpeechDetector/BandSplitter.ts"

/** Frames of the same noise each time. */
const noise = (frames: number): ReadonlyArray<Int16Array> => {
  let seed = 1
  return Array.from({ length: frames }, () =>
    Int16Array.from({ length: frameLength }, () => {
      seed = (seed * 48271) % 2147483647
      return (seed % 16001) - 8000
    })
  )
}

const measured = (splitter: BandSplitter, frames: ReadonlyArray<Int16Array>) =>
  frames.map((frame) => {
    splitter.push(frame)
    return { level: splitter.level, levels: [...splitter.levels], low: [...splitter.low] }
  })

const silence = Array.from({ length: 50 }, () => new Int16Array(frameLength))

it("A splitter measures nothing in digital silence, and after it the same as a new one", () => {
  const splitter = new BandSplitter()
  measured(splitter, noise(20))
  expect(measured(splitter, silence).at(-1)).toEqual(measured(new BandSplitter(), silence).at(-1))
  expect(splitter.level).toBe(0)
  expect([...splitter.low].every((sample) => sample === 0)).toBe(true)
  const after = measured(splitter, noise(20))
  expect(after).toEqual(measured(new BandSplitter(), noise(20)))
  expect(after.every(({ level }) => level > 50)).toBe(true)
})

it("A splitter hears the decay of its filters after a sound ends", () => {
  const splitter = new BandSplitter()
  measured(splitter, noise(20))
  const [first, second] = measured(splitter, silence)
  expect(first?.level).toBeGreaterThan(0)
  expect(second?.level).toBeLessThan(first?.level ?? 0)
})
