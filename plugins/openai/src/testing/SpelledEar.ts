import { pcmToMulaw } from "@svc/providers/G711"
import { characterMs, spelledPcm } from "@svc/providers/testing/SpelledSound"

/** What an emulated server hears in one item, from frames of 20 ms of PCM16. */
export interface Ear {
  readonly push: (frame: Int16Array) => unknown
  /** All that was heard since the beginning. */
  readonly text: () => string
}

const framesOfCharacter = characterMs / 20

/** Hears spelled sound, with silence around it. */
export const spelledEar = (): Ear => {
  let text = ""
  let last = 0
  let frames = 0
  const code = new Uint8Array(1)
  return {
    push: (frame) => {
      pcmToMulaw(frame, frame.length >> 1, 1, code, 0)
      const value = code[0] ?? 0xff
      const isSpeech = value >= 0x20 && value <= 0x7a
      frames = isSpeech && value === last ? frames + 1 : isSpeech ? 1 : 0
      last = isSpeech ? value : 0
      if (isSpeech && frames % framesOfCharacter === 1) text += String.fromCharCode(value)
    },
    text: () => text
  }
}

/** Frames of 20 ms that spell a text. */
export const spelledFrames = (text: string, sampleRate: number): ReadonlyArray<Int16Array> => {
  const bytes = Buffer.from(spelledPcm(text, sampleRate))
  const length = sampleRate / 50
  return Array.from({ length: text.length * framesOfCharacter }, (_, n) =>
    Int16Array.from({ length }, (_, i) => bytes.readInt16LE(2 * (n * length + i)))
  )
}
