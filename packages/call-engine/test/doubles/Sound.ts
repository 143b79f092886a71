import { pcmToMulaw } from "@svc/providers/G711"
import { Effect } from "effect"
import { MPEGDecoder } from "mpg123-decoder"

export const rate = 8000

/** Delay in samples from the encoder's input to the decoder's output: LAME's and the decoder's. */
const codecDelay = 576 + 529

export interface Heard {
  /** Seconds. */
  readonly length: number
  readonly sampleRate: number
  /** Strength of a tone (Hz) on one side between two times in seconds, 0 to 1. */
  readonly tone: (side: "left" | "right", hz: number, from: number, to: number) => number
  /** Loudness (RMS) of one side between two times. */
  readonly loudness: (side: "left" | "right", from: number, to: number) => number
}

/** Decodes a whole MP3 file. */
export const decode = (file: Uint8Array): Effect.Effect<Heard> =>
  Effect.promise(async () => {
    const decoder = new MPEGDecoder()
    await decoder.ready
    const { channelData, sampleRate } = decoder.decode(file)
    const sides = { left: channelData[0]?.slice(codecDelay), right: channelData[1]?.slice(codecDelay) }
    decoder.free()
    const part = (side: "left" | "right", from: number, to: number): Float32Array =>
      sides[side]?.subarray(Math.round(from * sampleRate), Math.round(to * sampleRate)) ?? new Float32Array(0)
    return {
      length: (sides.left?.length ?? 0) / sampleRate,
      sampleRate,
      tone: (side, hz, from, to) => {
        const samples = part(side, from, to)
        let [real, imaginary] = [0, 0]
        samples.forEach((sample, i) => {
          real += sample * Math.cos((2 * Math.PI * hz * i) / sampleRate)
          imaginary += sample * Math.sin((2 * Math.PI * hz * i) / sampleRate)
        })
        return (2 * Math.hypot(real, imaginary)) / samples.length
      },
      loudness: (side, from, to) => {
        const samples = part(side, from, to)
        return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)
      }
    }
  })

/** A tone at 30 % of full scale, as PCM16. */
export const tone = (hz: number, seconds: number, sampleRate = rate): Int16Array<ArrayBuffer> =>
  Int16Array.from({ length: Math.round(seconds * sampleRate) }, (_, i) =>
    Math.round(0.3 * 32_767 * Math.sin((2 * Math.PI * hz * i) / sampleRate))
  )

export const mulawOf = (pcm: Int16Array): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(pcm.length)
  pcmToMulaw(pcm, 0, pcm.length, bytes, 0)
  return bytes
}

export const silence = (seconds: number): Uint8Array<ArrayBuffer> => new Uint8Array(seconds * rate).fill(0xff)
