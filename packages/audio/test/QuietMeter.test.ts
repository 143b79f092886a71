import { describe, expect, it } from "vitest"
import { powerOf } from "../src/Power.ts"
import { QuietMeter } from "../src/QuietMeter.ts"

const frame = (amplitude: number): Int16Array =>
  Int16Array.from({ length: 160 }, (_, n) => Math.round(amplitude * Math.sin((2 * Math.PI * 500 * n) / 8000)))

/** The quiet after each frame of these amplitudes. */
const quietAfter = (amplitudes: ReadonlyArray<number>): ReadonlyArray<number> => {
  const meter = new QuietMeter()
  return amplitudes.map((amplitude) => {
    meter.push(powerOf(frame(amplitude)))
    return meter.quietMs
  })
}

describe("QuietMeter", () => {
  it("counts frames after speech, from the first one that is 17 dB below it", () => {
    expect(quietAfter([8000, 8000, 1200, 1100, 0, 8000])).toEqual([0, 0, 0, 20, 40, 0])
  })

  it("finds no quiet in steady noise, but does where speech is louder than the noise", () => {
    expect(quietAfter([600, 600, 600])).toEqual([0, 0, 0])
    expect(quietAfter([600, 9000, 600, 600])).toEqual([0, 0, 20, 40])
  })

  it("takes the noise of a codec for quiet", () => {
    expect(quietAfter([0, 8, 0, 20])).toEqual([20, 40, 60, 80])
  })

  it("forgets a loud sound within seconds", () => {
    const after = quietAfter([20_000, ...new Array<number>(500).fill(900)])
    expect(after[1]).toBe(20)
    expect(after.at(-1)).toBe(0)
  })
})
