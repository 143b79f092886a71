import { describe, expect, it } from "vitest"
import { powerOf } from "../src/Power.ts"
import { SoundLevel } from "../src/SoundLevel.ts"

/** A level that got so many frames of each amplitude. */
const levelOf = (...parts: ReadonlyArray<readonly [frames: number, amplitude: number]>): SoundLevel => {
  const level = new SoundLevel()
  for (const [frames, amplitude] of parts)
    for (let n = 0; n < frames; n++)
      level.push(powerOf(new Int16Array(160).map((_, i) => (i % 2 === 0 ? amplitude : -amplitude))))
  return level
}

describe("a sound whose voice activity has ended", () => {
  it.each([
    ["goes on as loud as before", [[200, 4000]], true],
    [
      "goes on a little quieter",
      [
        [200, 4000],
        [12, 3000]
      ],
      true
    ],
    [
      "has ended in silence",
      [
        [200, 4000],
        [12, 0]
      ],
      false
    ],
    [
      "has ended in the noise of the line, 6 dB below it",
      [
        [200, 4000],
        [12, 2000]
      ],
      false
    ],
    ["was silence", [[200, 10]], false],
    ["has just begun", [[3, 4000]], false]
  ] as const)("%s", (_, parts, goesOn) => {
    expect(levelOf(...parts).ended(240)).toBe(goesOn)
  })

  it("goes on until its power of 300 ms falls below half", () => {
    const level = levelOf([200, 4000])
    expect(level.ended(200)).toBe(true)
    const heard: Array<boolean> = []
    for (const amplitude of [4000, ...new Array<number>(9).fill(0)]) {
      level.push(amplitude ** 2)
      heard.push(level.goesOn)
    }
    // Eight of 15 frames are half.
    expect(heard.indexOf(false)).toBe(8)
  })
})
