import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import { type Outcome, ToneDecoder } from "../src/ToneSpeech/ToneDecoder.ts"
import { ToneEncoder } from "../src/ToneSpeech/ToneEncoder.ts"
import { renderFrame } from "../src/ToneSpeech/ToneFrames.ts"

/** The events of a decoder for some frames. */
export interface Heard {
  readonly started: number
  readonly progressed: ReadonlyArray<string>
  readonly ended: ReadonlyArray<{ readonly text: string; readonly outcome: Outcome }>
}

/** The frames of an utterance, as PCM16. */
export const toneFrames = (text: string, sampleRate = 8000): ReadonlyArray<Int16Array> => {
  const encoder = new ToneEncoder(text)
  return Array.from({ length: encoder.frames }, () => {
    const frame = new Int16Array(sampleRate / 50)
    renderFrame(encoder.next(), sampleRate, frame, 0)
    return frame
  })
}

export const silence = (frames: number): ReadonlyArray<Int16Array> =>
  Array.from({ length: frames }, () => new Int16Array(160))

/** A frame after encoding to mu-law and back. */
export const throughMulaw = (frame: Int16Array): Int16Array => {
  const bytes = new Uint8Array(frame.length)
  const back = new Int16Array(frame.length)
  pcmToMulaw(frame, 0, frame.length, bytes, 0)
  mulawToPcm(bytes, 0, frame.length, back, 0)
  return back
}

/** Converts samples to 8 kHz by linear interpolation, which is good enough for tones. */
export const at8kHz = (samples: Int16Array, sampleRate: number): Int16Array =>
  Int16Array.from({ length: Math.floor((samples.length * 8000) / sampleRate) }, (_, n) => {
    const at = (n * sampleRate) / 8000
    const before = samples[Math.floor(at)] ?? 0
    return Math.round(before + (at % 1) * ((samples[Math.floor(at) + 1] ?? before) - before))
  })

/** Cuts samples into frames of 20 ms; an incomplete one at the end is dropped. */
export const framesOf = (samples: Int16Array, sampleRate = 8000): ReadonlyArray<Int16Array> => {
  const length = sampleRate / 50
  return Array.from({ length: Math.floor(samples.length / length) }, (_, n) =>
    samples.slice(n * length, (n + 1) * length)
  )
}

/** Decodes frames at 8000 × `step` Hz. */
export const hear = (frames: ReadonlyArray<Int16Array>, step = 1): Heard => {
  let started = 0
  const progressed: Array<string> = []
  const ended: Array<Heard["ended"][number]> = []
  const decoder = new ToneDecoder({
    started: () => started++,
    progressed: (text) => progressed.push(text),
    ended: (text, outcome) => ended.push({ text, outcome })
  })
  for (const frame of frames) decoder.push(frame, 0, step)
  return { started, progressed, ended }
}
