import { beforeAll, describe, expect, it } from "vitest"
import type { FvadPool } from "../src/FvadPool.ts"
import { Resampler } from "../src/Resampler.ts"
import { SpeechDetector } from "../src/SpeechDetector.ts"
import { decisions, found, quantile, stretchesOf } from "../src/testing/Measurement.ts"
import { noise } from "../src/testing/Noise.ts"
import { recordings } from "../src/testing/Recordings.ts"
import {
  concat,
  frameLength,
  gaussian,
  louder,
  mix,
  type Signal,
  sampleRate,
  seeded,
  throughTelephone
} from "../src/testing/Signal.ts"
import { type SpeechTrack, speechTrack } from "../src/testing/SpeechTrack.ts"
import { fvad } from "./Fvad.ts"

/** Lines and callers as they are, beyond steady noise: what the caller says is found, and nothing else is speech. */

const level = -26
const callers = recordings("callers")
const track = speechTrack(callers, level, 5)

let pool: FvadPool
beforeAll(async () => {
  pool = await fvad()
})
const open = (rate = sampleRate) => new SpeechDetector(rate, pool.open())

/** The noise of a quiet line: -69 dBov. */
const line = (length: number): Signal => {
  const random = seeded(9)
  return Float32Array.from({ length }, () => (random() - 0.5) * 40)
}

const heardOf = (signal: Signal): Int16Array => throughTelephone(mix(signal, line(signal.length)))

/** Share of the speech that is found, the median of its onsets in ms, and stretches of 250 ms of speech in its pauses. */
const figures = (decided: Uint8Array, speech: SpeechTrack) => {
  const { onsets, share } = found(decided, speech)
  const pauses = decided.slice()
  // Speech ends 300 ms after its last sound at the latest.
  for (const [first, end] of speech.spans) pauses.fill(0, Math.max(0, first - 2), end + 15)
  return { share, onset: quantile(onsets, 0.5), falses: stretchesOf(pauses)[1] }
}

const expectGood = (decided: Uint8Array, speech = track) => {
  const { falses, onset, share } = figures(decided, speech)
  expect(share).toBeGreaterThanOrEqual(0.9)
  expect(onset).toBeLessThanOrEqual(100)
  expect(falses).toBe(0)
}

/** Every stretch of 20 ms that is lost is the one before again, weaker each time, as telephones conceal loss. */
const concealed = (pcm: Int16Array, share: number): Int16Array => {
  const random = seeded(21)
  const heard = pcm.slice()
  let lost = false
  for (let at = frameLength; at + frameLength <= heard.length; at += frameLength) {
    // Losses come in bursts.
    lost = random() < (lost ? 0.4 : share * 0.63)
    if (lost) for (let i = 0; i < frameLength; i++) heard[at + i] = Math.round((heard[at - frameLength + i] ?? 0) * 0.7)
  }
  return heard
}

/** A room around a telephone on a table: a direct sound and 150 ms of reverberation. */
const inRoom = (signal: Signal): Signal => {
  const random = seeded(4)
  const response = Array.from({ length: 1200 }, (_, i) => (i === 0 ? 1 : gaussian(random) * 0.12 * Math.exp(-i / 350)))
  const heard = new Float32Array(signal.length)
  for (const [tap, factor] of response.entries()) {
    for (let i = tap; i < heard.length; i++) heard[i] = (heard[i] ?? 0) + factor * (signal[i - tap] ?? 0)
  }
  return heard
}

/** Comfort noise that takes turns with the noise of the line, each at another level. */
const comfortNoise = (length: number): Signal => {
  const random = seeded(33)
  const levels = [0, 15, 40, 100]
  let [until, factor, low] = [0, 0, 0]
  return Float32Array.from({ length }, (_, i) => {
    if (i >= until) {
      until = i + Math.floor(sampleRate * (0.2 + 2 * random()))
      factor = levels[Math.floor(levels.length * random())] ?? 0
    }
    const white = gaussian(random)
    low += 0.3 * (white - low)
    return factor * (factor === 40 ? 2 * low : white)
  })
}

/** Silence or sound, then the track. */
const after = (before: Signal): { readonly heard: Int16Array; readonly speech: SpeechTrack } => {
  const frames = before.length / frameLength
  return {
    heard: heardOf(concat([before, track.signal])),
    speech: {
      ...track,
      isSpeech: Uint8Array.from([...new Uint8Array(frames), ...track.isSpeech]),
      spans: track.spans.map(([first, end]) => [first + frames, end + frames] as const)
    }
  }
}

describe("SpeechDetector", () => {
  it.each([
    ["at -35 dBm0", (x: Signal) => louder(x, -12)],
    ["that is clipped at full scale", (x: Signal) => louder(x, 26)],
    ["on a constant offset", (x: Signal) => x.map((y) => y + 3000)],
    ["in a room with reverberation", inRoom],
    ["between steps of comfort noise", (x: Signal) => mix(x, comfortNoise(x.length))]
  ])("finds speech %s", (_, change) => {
    expectGood(decisions(open, heardOf(change(track.signal))))
  })

  it("finds most of a caller's speech at -40 dBm0, which is partly weaker than the noise of a quiet line", () => {
    const { falses, onset, share } = figures(decisions(open, heardOf(louder(track.signal, -17))), track)
    expect(share).toBeGreaterThanOrEqual(0.7)
    expect(onset).toBeLessThanOrEqual(200)
    expect(falses).toBe(0)
  })

  it("finds speech of which 5 % is lost and concealed", () => {
    expectGood(decisions(open, concealed(heardOf(track.signal), 0.05)))
  })

  it.each([16_000, 48_000])("finds speech of a telephone's bandwidth at %i Hz", (rate) => {
    const pcm = heardOf(track.signal)
    const resampler = new Resampler(sampleRate, rate)
    const fast = Int16Array.from([...resampler.push(pcm), ...resampler.end()])
    const detector = open(rate)
    const length = rate / 50
    const decided = Uint8Array.from({ length: Math.floor(fast.length / length) }, (_, frame) =>
      detector.push(fast.subarray(frame * length, (frame + 1) * length)) === "speech" ? 1 : 0
    )
    expectGood(decided)
  })

  it.each([
    ["10 minutes of silence", () => new Float32Array(600 * sampleRate)],
    ["5 minutes of music on hold", () => louder(noise("music", 300, 8, callers), -22)],
    ["5 minutes of other music on hold", () => louder(noise("strings", 300, 8, callers), -22)],
    ["5 minutes of hiss", () => louder(noise("white", 300, 8, callers), -30)]
  ])("finds speech after %s", (_, before) => {
    const { heard, speech } = after(before())
    const decided = decisions(open, heard)
    const { onset, share } = figures(decided, speech)
    expect(share).toBeGreaterThanOrEqual(0.9)
    expect(onset).toBeLessThanOrEqual(100)
  })

  it.each([
    ["comfort noise that begins and ends", (length: number) => comfortNoise(length)],
    ["lost and concealed noise", (length: number) => louder(noise("pink", length / sampleRate, 3, callers), -40)],
    [
      "a constant offset that jumps",
      (length: number) => Float32Array.from({ length }, (_, i) => (Math.floor(i / 12_000) % 2) * 4000)
    ]
  ])("does not take %s for speech", (name, make) => {
    const pcm = heardOf(make(300 * sampleRate))
    const decided = decisions(open, name.startsWith("lost") ? concealed(pcm, 0.05) : pcm)
    expect(stretchesOf(decided)[0]).toBe(0)
  })
})
