import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"

/** What an emulated recognizer hears, from frames of 20 ms of PCM16. */
export interface Ear {
  /** Takes a frame. Returns whether it was speech. */
  readonly push: (frame: Int16Array) => boolean
  /** All that was heard since the beginning. */
  readonly text: () => string
}

/** Frames of 20 ms that say a text, one for each character (ASCII): its value is a level of mu-law. */
export const framesOf = (text: string, sampleRate: number): ReadonlyArray<Int16Array> =>
  [...text].map((character) => {
    const level = new Int16Array(1)
    mulawToPcm(Uint8Array.of(character.charCodeAt(0)), 0, 1, level, 0)
    return new Int16Array(sampleRate / 50).fill(level[0] ?? 0)
  })

/** Hears {@link framesOf}, also through mu-law. */
export const levelEar = (): Ear => {
  let text = ""
  const code = new Uint8Array(1)
  return {
    push: (frame) => {
      pcmToMulaw(frame, frame.length >> 1, 1, code, 0)
      const value = code[0] ?? 0xff
      if (value < 0x20 || value > 0x7a) return false
      text += String.fromCharCode(value)
      return true
    },
    text: () => text
  }
}
