import { Effect } from "effect"
import { MPEGDecoder } from "mpg123-decoder"
import type { TimedFrame } from "./Talk.ts"

/** Delay in samples from the encoder's input to the decoder's output: LAME's and the decoder's. */
const codecDelay = 576 + 529

export interface Recording {
  readonly caller: Float32Array
  readonly agent: Float32Array
  readonly sampleRate: number
}

/** Decodes a stereo MP3: the caller is left, the agent right. */
export const decodeRecording = (file: Uint8Array): Effect.Effect<Recording> =>
  Effect.promise(async () => {
    const decoder = new MPEGDecoder()
    await decoder.ready
    const { channelData, sampleRate } = decoder.decode(file)
    decoder.free()
    const side = (index: number) => channelData[index]?.slice(codecDelay) ?? new Float32Array(0)
    return { caller: side(0), agent: side(1), sampleRate }
  })

/** Frames one after the other. */
export const joined = (frames: ReadonlyArray<Pick<TimedFrame, "pcm">>): Float32Array => {
  const samples = new Float32Array(frames.reduce((length, { pcm }) => length + pcm.length, 0))
  let at = 0
  for (const { pcm } of frames) {
    samples.set(pcm, at)
    at += pcm.length
  }
  return samples
}

/** Frames of one piece that is searched for: 120 ms. */
const pieceFrames = 6
/** How far the place of a piece may be from that of most others, in ms: a frame is sent late, or a pause is left out. */
const toleranceMs = 60

/**
 * The time, on the clock of the frames, at which a sound of 8 kHz begins that has them: the median over pieces of 120 ms.
 * `found`: the share of the pieces that are found there; others match another place, because letters repeat.
 */
export const startOf = (
  frames: ReadonlyArray<TimedFrame>,
  sound: Float32Array
): { readonly at: number; readonly found: number } => {
  const starts: Array<number> = []
  for (let from = 0; from + pieceFrames <= frames.length; from += pieceFrames) {
    const { at, correlation } = findIn(sound, joined(frames.slice(from, from + pieceFrames)))
    starts.push(correlation > 0.7 ? (frames[from]?.at ?? Number.NaN) - at / 8 : Number.POSITIVE_INFINITY)
  }
  const median = starts.toSorted((one, other) => one - other)[starts.length >> 1] ?? Number.NaN
  return {
    at: median,
    found: starts.filter((start) => Math.abs(start - median) < toleranceMs).length / starts.length
  }
}

/** Where a piece of sound is in another: the sample at which the normalized correlation is highest, and how high it is. */
export const findIn = (
  sound: Float32Array,
  piece: Float32Array,
  from = 0,
  to = sound.length
): { readonly at: number; readonly correlation: number } => {
  const last = Math.min(to, sound.length - piece.length)
  let wanted = 0
  for (const sample of piece) wanted += sample * sample
  let energy = 0
  for (let i = from; i < from + piece.length; i++) energy += (sound[i] ?? 0) ** 2
  let best = { at: Number.NaN, correlation: 0 }
  for (let lag = from; lag <= last; lag++) {
    // Silence is not like anything.
    if (energy > 1e-9 * piece.length) {
      let product = 0
      for (let i = 0; i < piece.length; i++) product += (sound[lag + i] ?? 0) * (piece[i] ?? 0)
      const correlation = product / Math.sqrt(energy * wanted + 1e-12)
      if (correlation > best.correlation) best = { at: lag, correlation }
    }
    energy += (sound[lag + piece.length] ?? 0) ** 2 - (sound[lag] ?? 0) ** 2
  }
  return best
}
