import { describe, expect, it } from "vitest"
import { BeepDetector } from "../src/BeepDetector.ts"

const rate = 8000

/** Frames of sounds after one another: frequencies and their length in ms. */
const heard = (...sounds: ReadonlyArray<readonly [frequencies: ReadonlyArray<number>, ms: number, level?: number]>) => {
  const beep = new BeepDetector(rate)
  const detected: Array<number> = []
  let at = 0
  for (const [frequencies, ms, level = 6000] of sounds) {
    for (let frame = 0; frame < ms / 20; frame++) {
      const samples = Int16Array.from({ length: 160 }, (_, n) =>
        Math.round(
          frequencies.reduce((sum, hz) => sum + level * Math.sin((2 * Math.PI * hz * (at * 160 + n)) / rate), 0)
        )
      )
      if (beep.push(samples)) detected.push(at * 20)
      at++
    }
  }
  return detected
}

const silence = [[], 200] as const

describe("BeepDetector", () => {
  it("detects one tone of any usual frequency when it ends", () => {
    for (const hz of [400, 440, 615, 987, 1000, 1025, 1400, 2000]) {
      expect([hz, heard([[hz], 500], silence)]).toEqual([hz, [520]])
    }
  })

  it("does not detect silence, hiss, clicks, endless tones, or tones that are too quiet", () => {
    expect(heard([[], 2000])).toEqual([])
    expect(heard([[1000], 60], silence)).toEqual([])
    expect(heard([[1000], 5000], silence)).toEqual([])
    expect(heard([[1000], 500, 100], silence)).toEqual([])
    const beep = new BeepDetector(rate)
    let state = 1
    const hiss = Array.from({ length: 200 }, () =>
      Int16Array.from({ length: 160 }, () => {
        state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
        return (state % 8000) - 4000
      })
    )
    expect(hiss.some((frame) => beep.push(frame))).toBe(false)
  })

  it("does not detect DTMF, ringing tones or other chords", () => {
    expect(heard([[697, 1209], 500], silence)).toEqual([])
    expect(heard([[440, 480], 2000], silence)).toEqual([])
    expect(heard([[400, 2000], 60], [[450, 2050], 60], [[400, 2100], 60], silence)).toEqual([])
  })

  it("detects a beep right after speech, and consecutive beeps", () => {
    expect(heard([[500, 900, 1700], 1000], [[1000], 500], silence)).toEqual([1520])
    expect(heard([[1000], 200], silence, [[1400], 200], silence)).toEqual([220, 620])
  })
})
