import { readdirSync, readFileSync } from "node:fs"
import { mulawToPcm } from "@svc/providers/G711"
import { describe, expect, it } from "vitest"
import { SoundGate } from "../page/SoundGate.js"

const rate = 16_000
const length = 320
const folder = new URL("./fixtures/", import.meta.url)

const rms = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length))

/** The factor that brings a root mean square to a level in dB of full scale. */
const factor = (from: number, decibels: number): number => (32_768 * 10 ** (decibels / 20)) / from

const framesOf = (samples: Float32Array): ReadonlyArray<Float32Array> =>
  Array.from({ length: Math.floor(samples.length / length) }, (_, n) => samples.subarray(n * length, (n + 1) * length))

/** Recordings of words at 16 kHz, by espeak-ng: `npm run fixtures:speech` makes them. */
const words = readdirSync(folder).map((name) => {
  const bytes = readFileSync(new URL(name, folder))
  const pcm = new Int16Array(bytes.length)
  mulawToPcm(bytes, 0, bytes.length, pcm, 0)
  return { name, samples: Float32Array.from(pcm) }
})

/** Numbers from -1 to 1; the same seed gives the same numbers. */
const randomFrom = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2 ** 31
  }
}

/** Noises of some seconds: the hiss of a microphone, and a fan, which is low and hums. */
const noises = {
  hiss: (seconds: number) => Float32Array.from({ length: seconds * rate }, randomFrom(1)),
  fan: (seconds: number) => {
    const random = randomFrom(2)
    let low = 0
    return Float32Array.from({ length: seconds * rate }, (_, n) => {
      low = 0.95 * low + 0.1 * random()
      return low + 0.1 * Math.sin((2 * Math.PI * 120 * n) / rate)
    })
  }
} as const

const sum = (one: Float32Array, other: Float32Array, at: number): Float32Array => {
  const all = one.slice()
  for (const [n, sample] of other.entries()) all[at + n] = (all[at + n] ?? 0) + sample
  return all
}

const at = (samples: Float32Array, decibels: number): Float32Array => {
  const by = factor(rms(samples), decibels)
  return samples.map((sample) => sample * by)
}

/** What was sent of a microphone: each frame once and in order, and which of them. */
const sentOf = (microphone: Float32Array) => {
  const gate = new SoundGate()
  const frames = framesOf(microphone).map((frame) => Int16Array.from(frame, Math.round))
  const sent = frames.map(() => false)
  let last = -1
  let longest = 0
  frames.forEach((frame, n) => {
    // The page does not use a frame again that the gate has.
    const audio = gate.push(frame.slice())
    if (audio === undefined) return
    const count = audio.length / length
    longest = Math.max(longest, count)
    const first = n - count + 1
    if (first <= last) throw new Error(`frame ${first} was sent again`)
    last = n
    for (let k = first; k <= n; k++) {
      sent[k] = true
      const part = audio.subarray((k - first) * length, (k - first + 1) * length)
      if (!part.every((sample, i) => sample === frames[k]?.[i])) throw new Error(`frame ${k} was changed`)
    }
  })
  return { sent, longest, share: (from: number, to: number) => shareOf(sent.slice(from * 50, to * 50)) }
}

const shareOf = (sent: ReadonlyArray<boolean>) => sent.filter(Boolean).length / sent.length

/** The frames of a recording that are heard: at most 30 dB below its loudest. */
const heard = (samples: Float32Array): ReadonlyArray<number> => {
  const levels = framesOf(samples).map(rms)
  const most = Math.max(...levels)
  return levels.flatMap((level, n) => (level > most / 32 ? [n] : []))
}

const backgrounds = { hiss: noises.hiss(8), fan: noises.fan(8) }

describe("The page's sound gate", () => {
  it("sends words from their first soft letter to their last, without a gap, at any level and in any noise", () => {
    for (const { name, samples } of words) {
      for (const level of [-25, -45]) {
        for (const [noise, distance] of [
          ["hiss", 60],
          ["hiss", 8],
          ["fan", 5]
        ] as const) {
          const start = 5 * rate
          const background = at(backgrounds[noise], level - distance)
          const spoken = at(samples, level)
          const { longest, sent } = sentOf(sum(background, spoken, start))
          const frames = heard(spoken)
          const [from, to] = [start / length + (frames[0] ?? 0), start / length + (frames.at(-1) ?? 0)]
          expect([name, level, noise, distance, sent.slice(from, to + 1).includes(false)]).toEqual([
            name,
            level,
            noise,
            distance,
            false
          ])
          // The server takes no more in one message.
          expect(longest).toBeLessThanOrEqual(16)
        }
      }
    }
  })

  it("sends nothing of a silent room, but at the beginning of a call", () => {
    const { share } = sentOf(at(noises.hiss(20), -70))
    expect(share(0, 0.6)).toBe(1)
    expect(share(1, 20)).toBe(0)
  })

  it("sends a steady noise until it is known, and then nothing of it; silence and another noise change that", () => {
    for (const noise of [noises.hiss, noises.fan]) {
      const steady = at(noise(20), -45)
      const { share } = sentOf(steady)
      expect(share(0, 4)).toBe(1)
      expect(share(5, 20)).toBeLessThan(0.05)
      // The fan is switched off, and on again.
      const again = sentOf(
        sum(sum(new Float32Array(40 * rate), steady, 0), steady, 20 * rate + 5 * rate).slice(0, 40 * rate)
      )
      expect(again.share(21, 24.5)).toBe(0)
      expect(again.share(25.1, 29)).toBe(1)
      expect(again.share(31, 40)).toBeLessThan(0.05)
    }
  })

  it("sends a loud noise always: it may be a person", () => {
    expect(sentOf(at(noises.hiss(20), -34)).share(0, 20)).toBe(1)
  })

  it("sends speech without a pause, however long it is", () => {
    const [longest] = words.toSorted((a, b) => b.samples.length - a.samples.length)
    const spoken = at(
      (longest?.samples ?? new Float32Array()).filter((_, n, { length }) => n > 0.1 * length && n < 0.9 * length),
      -45
    )
    const repeated = Float32Array.from({ length: 30 * rate }, (_, n) => spoken[n % spoken.length] ?? 0)
    expect(sentOf(repeated).share(0, 30)).toBe(1)
  })

  it("is not opened by an offset of the microphone", () => {
    const shifted = at(noises.hiss(10), -70).map((sample) => sample + 2000)
    expect(sentOf(shifted).share(2, 10)).toBe(0)
  })

  it("sends 300 ms before a sound and 600 ms after it", () => {
    const click = new Float32Array(10 * rate)
    click.fill(3000, 5 * rate, 5 * rate + length)
    const { sent } = sentOf(click)
    expect([sent.indexOf(true, 100), sent.lastIndexOf(true)]).toEqual([250 - 15, 250 + 31])
  })
})
