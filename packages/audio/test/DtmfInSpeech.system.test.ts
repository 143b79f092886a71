import { describe, expect, it } from "vitest"
import { DtmfDetector } from "../src/DtmfDetector.ts"
import { Resampler } from "../src/Resampler.ts"
import { recordings } from "../src/testing/Recordings.ts"
import { concat, louder, type Signal, sampleRate, throughTelephone } from "../src/testing/Signal.ts"

/** The recording at another speed, and thus with other voices: pitch and formants change with it. */
const atSpeed = (pcm: Int16Array, factor: number): Signal => {
  const resampler = new Resampler(Math.round(sampleRate * factor), sampleRate)
  return Float32Array.from([...resampler.push(pcm), ...resampler.end()])
}

const all = [...recordings("callers"), ...recordings("agent")]
const loud = concat(all.map(({ signal }) => louder(signal, -16)))
const pcm = Int16Array.from(loud, (x) => Math.max(-32_768, Math.min(32_767, Math.round(x))))

describe("DtmfDetector", () => {
  const voices = [0.75, 0.85, 0.95, 1.05, 1.15, 1.25]
  const shifts = [0, 0.025, 0.05]

  // 18 speeds at 3 levels, of a minute and more each.
  it.each(voices.flatMap((voice) => shifts.map((shift) => voice + shift)))(
    "finds no digit in an hour of speech in eight languages, of low and high voices, at three levels: speed %f",
    (speed) => {
      const voice = atSpeed(pcm, speed)
      for (const decibels of [-20, -10, 0]) {
        const found = new DtmfDetector(sampleRate).push(throughTelephone(louder(voice, decibels)))
        expect({ decibels, found }).toEqual({ decibels, found: "" })
      }
    }
  )
})
