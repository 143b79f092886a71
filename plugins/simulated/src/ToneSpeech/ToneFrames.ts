import { type Law, mulaw } from "../Law.ts"
import { highBin, lowBin } from "./ToneCode.ts"

/** One of the 512 frames of tone speech: the symbol's byte, plus 256 for odd symbols. */
export type FrameKey = number

/** The sample rates in Hz at which tone speech is decoded. It is rendered at any multiple of 50 Hz. */
export const sampleRates: ReadonlyArray<number> = [8000, 16_000, 24_000]

/** The amplitude of each of the two tones; full scale is 32767. */
const amplitude = 7000

/** The root mean square of tone speech, to which the level of noise is relative. */
export const speechLevel = amplitude

/** The number of samples in 20 ms at 8 kHz. */
const frameLength = 160

/** One frame of each bin's sine by sample rate: every bin has a whole number of periods in a frame. */
const sines = new Map<number, ReadonlyArray<Int16Array>>()

const sinesAt = (sampleRate: number): ReadonlyArray<Int16Array> => {
  const known = sines.get(sampleRate)
  if (known !== undefined) return known
  const length = sampleRate / 50
  const made = Array.from({ length: 80 }, (_, bin) =>
    Int16Array.from({ length }, (_, n) =>
      Math.round(amplitude * Math.sin((2 * Math.PI * ((bin * n) % length)) / length))
    )
  )
  sines.set(sampleRate, made)
  return made
}

const empty = new Int16Array(0)

/** Writes the 20 ms frame `key` as PCM16 at `sampleRate` (a multiple of 50 Hz from 8000) from `offset` on. */
export const renderFrame = (key: FrameKey, sampleRate: number, out: Int16Array, offset: number): void => {
  const table = sinesAt(sampleRate)
  const low = table[lowBin(key & 0xff, key >> 8)] ?? empty
  const high = table[highBin(key & 0xff, key >> 8)] ?? empty
  for (let n = 0; n < low.length; n++) out[offset + n] = (low[n] ?? 0) + (high[n] ?? 0)
}

const lawFrames = new Map<Law, Array<Uint8Array | undefined>>()

/** The 20 ms frame `key` in one of the laws of G.711 at 8 kHz. The array is shared: do not write to it. */
export const lawFrame = (law: Law, key: FrameKey): Uint8Array => {
  const frames = lawFrames.get(law) ?? Array.from({ length: 512 }, () => undefined)
  lawFrames.set(law, frames)
  const known = frames[key]
  if (known !== undefined) return known
  const pcm = new Int16Array(frameLength)
  const made = new Uint8Array(frameLength)
  renderFrame(key, 8000, pcm, 0)
  law.encode(pcm, 0, frameLength, made, 0)
  frames[key] = made
  return made
}

/** The 20 ms frame `key` in mu-law at 8 kHz. The array is shared: do not write to it. */
export const mulawFrame = (key: FrameKey): Uint8Array => lawFrame(mulaw, key)
