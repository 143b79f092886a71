import { describe, expect, it } from "vitest"
import { EnergyDetector } from "../src/EnergyDetector.ts"

const tone = (amplitude: number): Int16Array =>
  Int16Array.from({ length: 160 }, (_, i) => Math.round(Math.sin((i * Math.PI) / 4) * amplitude))

const feed = (voice: EnergyDetector, amplitude: number, frames: number): ReadonlyArray<string> =>
  Array.from({ length: frames }, () => voice.push(tone(amplitude)))

describe("EnergyDetector", () => {
  it("reports speech after 60 ms, and silence after 160 ms of quiet", () => {
    const voice = new EnergyDetector()
    feed(voice, 0, 10)
    expect(feed(voice, 8000, 4)).toEqual(["silence", "silence", "speech", "speech"])
    const end = feed(voice, 0, 9)
    expect(end.indexOf("silence")).toBe(7)
  })

  it("does not take a click for speech, nor a short gap for its end", () => {
    const voice = new EnergyDetector()
    expect(feed(voice, 20_000, 2)).not.toContain("speech")
    expect(feed(voice, 0, 5)).not.toContain("speech")
    feed(voice, 8000, 5)
    expect(feed(voice, 0, 7)).not.toContain("silence")
    expect(feed(voice, 8000, 3)).not.toContain("silence")
  })

  it("reports no speech in silence or in sound that is too quiet, however long", () => {
    const voice = new EnergyDetector()
    expect(feed(voice, 0, 500)).not.toContain("speech")
    expect(feed(voice, 250, 500)).not.toContain("speech")
  })

  it("follows growing noise, and still detects speech above it", () => {
    const voice = new EnergyDetector()
    for (let level = 50; level <= 900; level *= 1.1) expect(feed(voice, level, 20)).not.toContain("speech")
    expect(feed(voice, 6000, 4)).toContain("speech")
    expect(feed(voice, 900, 12).at(-1)).toBe("silence")
  })

  it("adapts to a hiss that was present from the start", () => {
    const voice = new EnergyDetector()
    expect(feed(voice, 700, 10)).toContain("speech")
    feed(voice, 700, 400)
    expect(feed(voice, 700, 100)).not.toContain("speech")
    expect(feed(voice, 9000, 4)).toContain("speech")
  })

  it("adapts when noise has stopped", () => {
    const voice = new EnergyDetector()
    feed(voice, 2000, 600)
    feed(voice, 0, 150)
    expect(feed(voice, 700, 4)).toContain("speech")
  })

  it("reports silence for an empty frame", () => {
    expect(new EnergyDetector().push(new Int16Array())).toBe("silence")
  })
})
