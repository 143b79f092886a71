import type { Ear } from "@svc/plugin-deepgram/testing/Ear"
import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { renderFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"

/** Tone speech for emulated vendors, so that phones of the simulated network can talk with them. */

/** Hears tone speech. */
export const toneEar = (): Ear => {
  let before = ""
  let utterance = ""
  const decoder = new ToneDecoder({
    started: () => {},
    progressed: (text) => {
      utterance = text
    },
    ended: (text) => {
      before += `${text} `
      utterance = ""
    }
  })
  return {
    push: (frame) => {
      decoder.push(frame, 0, frame.length / 160)
      return frame.some((sample) => Math.abs(sample) > 1000)
    },
    text: () => before + utterance
  }
}

/** Speaks tone speech, as PCM16. */
export const toneVoice = (text: string, sampleRate: number): Int16Array => {
  const encoder = new ToneEncoder(text.trim())
  const samples = new Int16Array((encoder.frames * sampleRate) / 50)
  for (let at = 0, key = encoder.next(); key >= 0; at += sampleRate / 50, key = encoder.next()) {
    renderFrame(key, sampleRate, samples, at)
  }
  return samples
}
