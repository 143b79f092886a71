import { describe, expect, it } from "@effect/vitest"
import { LossConcealment } from "../src/JitterBuffer/LossConcealment.ts"
import { noise } from "../src/testing/Noise.ts"

const rms = (pcm: ArrayLike<number>, from = 0, to = pcm.length): number => {
  let energy = 0
  for (let i = from; i < to; i++) energy += (pcm[i] ?? 0) ** 2
  return Math.sqrt(energy / (to - from))
}

/** Noise of this level for so many seconds. */
const noiseAt = (kind: "white" | "pink", level: number, seconds: number): Int16Array => {
  const signal = noise(kind, seconds, 3, [])
  const unit = rms(signal)
  return Int16Array.from(signal, (x) => Math.round((x * level) / unit))
}

/** The greatest step from a sample to the next. */
const steepest = (pcm: Int16Array): number =>
  pcm.reduce((most, sample, i) => (i === 0 ? most : Math.max(most, Math.abs(sample - (pcm[i - 1] ?? 0)))), 0)

/** A voice of this pitch: a fundamental with harmonics, as loud as speech. */
const voice = (hz: number, sampleRate: number, seconds: number): Int16Array =>
  Int16Array.from({ length: seconds * sampleRate }, (_, n) => {
    let sum = 0
    for (let harmonic = 1; harmonic <= 8; harmonic++) {
      sum += Math.sin((2 * Math.PI * hz * harmonic * n) / sampleRate + harmonic) / harmonic
    }
    return Math.round(4000 * sum)
  })

/** The sound with a gap that is concealed. */
const withGap = (sound: Int16Array, sampleRate: number, fromMs: number, ms: number, isStop = false): Int16Array => {
  const concealment = new LossConcealment(sampleRate)
  const out = sound.slice()
  const frame = sampleRate / 50
  const [from, to] = [(fromMs * sampleRate) / 1000, ((fromMs + ms) * sampleRate) / 1000]
  for (let at = 0; at < out.length; at += frame) {
    if (at >= from && at < to) concealment.fill(out, at, frame, isStop)
    else {
      concealment.heard(out, at, frame)
      concealment.learn(out.subarray(at, at + frame))
    }
  }
  return out
}

describe("LossConcealment", () => {
  it("continues a voice of any pitch through a lost packet so that it hardly differs", () => {
    for (const sampleRate of [8000, 16_000]) {
      for (const hz of [80, 100, 137, 190, 250, 330]) {
        const sound = voice(hz, sampleRate, 0.4)
        const out = withGap(sound, sampleRate, 200, 20)
        const error = out.map((sample, i) => sample - (sound[i] ?? 0))
        const at = sampleRate / 5
        expect(rms(error, at, at + sampleRate / 100) / rms(sound)).toBeLessThan(0.5)
      }
    }
  })

  it("makes no click at the beginning, the end and within a gap of any length", () => {
    for (const sampleRate of [8000, 16_000]) {
      for (const ms of [20, 40, 60, 100, 200]) {
        for (const hz of [90, 137, 210, 330]) {
          const sound = voice(hz, sampleRate, 0.6)
          expect(steepest(withGap(sound, sampleRate, 200, ms))).toBeLessThan(1.25 * steepest(sound))
        }
        const hiss = noiseAt("white", 3000, (sampleRate / 8000) * 0.6)
        expect(steepest(withGap(hiss, sampleRate, 200, ms))).toBeLessThan(1.25 * steepest(hiss))
      }
    }
  })

  it("fades within 60 ms", () => {
    const sound = voice(120, 8000, 1)
    const out = withGap(sound, 8000, 200, 200)
    const level = (ms: number) => rms(out, ms * 8, (ms + 10) * 8) / rms(sound)
    expect(level(200)).toBeGreaterThan(0.8)
    expect(level(230)).toBeLessThan(0.75)
    expect(level(250)).toBeLessThan(0.3)
    expect(rms(out, 261 * 8, 390 * 8)).toBeLessThan(110)
    expect(level(410)).toBeGreaterThan(0.8)
  })

  it("fades within 10 ms when the line has stopped, without a click", () => {
    const sound = voice(120, 8000, 1)
    const out = withGap(sound, 8000, 200, 200, true)
    expect(steepest(out)).toBeLessThan(1.25 * steepest(sound))
    expect(rms(out, 210 * 8, 390 * 8)).toBeLessThan(110)
  })

  it("fills a long gap with noise like the background, so that a line does not go dead", () => {
    for (const level of [10, 30, 90]) {
      for (const kind of ["white", "pink"] as const) {
        const sound = noiseAt(kind, level, 3)
        for (const [i, sample] of voice(120, 8000, 0.4).entries()) sound[8000 + i] = (sound[8000 + i] ?? 0) + sample
        const out = withGap(sound, 8000, 2000, 500)
        expect(rms(out, 16_800, 19_900)).toBeGreaterThan(level / 2)
        expect(rms(out, 16_800, 19_900)).toBeLessThan(level * 1.5)
      }
    }
  })

  it("is silence on a line that was silent, and never louder than 50 dB below full scale", () => {
    const silent = withGap(new Int16Array(16_000), 8000, 1000, 500)
    expect(rms(silent)).toBe(0)
    const loud = noiseAt("white", 5000, 3)
    expect(rms(withGap(loud, 8000, 1000, 500), 8480, 11_900)).toBeLessThan(110)
  })
})
