import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"

/** Seeded signals for tests and benches of voice activity: mono at 8 kHz, levels in dB of full scale (dBov). */
export type Signal = Float32Array

/** Samples per second, and per frame of 20 ms. */
export const sampleRate = 8000
export const frameLength = 160

const fullScale = 32_768

/** A source of random numbers from 0 to 1; the same seed gives the same numbers (mulberry32). */
export type Random = () => number
export const seeded = (seed: number): Random => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A number of the normal distribution with mean 0 and variance 1. */
export const gaussian = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** The factor of a level difference in dB. */
export const gain = (decibels: number): number => 10 ** (decibels / 20)

/** The root mean square of a part of a signal. */
export const rms = (signal: Signal | Int16Array, from = 0, to = signal.length): number => {
  let sum = 0
  for (let i = from; i < to; i++) sum += (signal[i] ?? 0) ** 2
  return Math.sqrt(sum / Math.max(1, to - from))
}

/** The root mean square of the frames within 25 dB of the loud ones: the active level, as ITU-T P.56 means it. */
export const activeRms = (signal: Signal): number => {
  const powers: Array<number> = []
  for (let at = 0; at + frameLength <= signal.length; at += frameLength) {
    powers.push(rms(signal, at, at + frameLength) ** 2)
  }
  const loud = powers.toSorted((a, b) => b - a)[Math.floor(powers.length * 0.1)] ?? 0
  const active = powers.filter((power) => power > loud / 316)
  return Math.sqrt(active.reduce((sum, power) => sum + power, 0) / Math.max(1, active.length))
}

/** The signal with `level`, which was measured as its level, at `dbov`. */
export const atLevel = (signal: Signal, level: number, dbov: number): Signal => {
  const factor = level === 0 ? 0 : (fullScale * gain(dbov)) / level
  return signal.map((x) => x * factor)
}

/** `decibels` louder. */
export const louder = (signal: Signal, decibels: number): Signal => {
  const factor = gain(decibels)
  return signal.map((x) => x * factor)
}

/** The sum of two signals; the second one is repeated to the length of the first. */
export const mix = (signal: Signal, other: Signal, decibels = 0): Signal => {
  const factor = gain(decibels)
  return signal.map((x, i) => x + (other[i % other.length] ?? 0) * factor)
}

export const concat = (parts: ReadonlyArray<Signal>): Signal => {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** The signal after mu-law and back, as a telephone network passes it on. */
export const throughTelephone = (signal: Signal): Int16Array => {
  const pcm = Int16Array.from(signal, (x) => Math.max(-32_768, Math.min(32_767, Math.round(x))))
  const bytes = new Uint8Array(pcm.length)
  pcmToMulaw(pcm, 0, pcm.length, bytes, 0)
  mulawToPcm(bytes, 0, pcm.length, pcm, 0)
  return pcm
}

/** The mean square in dB that a level in dBov has. */
export const powerAt = (dbov: number): number => fullScale * gain(dbov)
