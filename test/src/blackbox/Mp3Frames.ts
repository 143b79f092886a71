/** Bits a second of an MPEG-2.5 (and MPEG-2) layer III frame, by its index, in kbit/s. */
const bitrates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

/** Contents of an MP3 file of telephone quality. */
export interface Mp3Frames {
  /** Seconds of sound in whole frames. */
  readonly seconds: number
  readonly stereo: boolean
  /** Bytes that belong to no whole frame. */
  readonly stray: number
}

/** Reads the frames of an MP3 of 8 kHz. */
export const framesOf = (file: Uint8Array): Mp3Frames => {
  let at = 0
  let frames = 0
  let stray = 0
  let stereo = true
  while (at < file.length) {
    const [a = 0, b = 0, c = 0, d = 0] = file.subarray(at, at + 4)
    // MPEG-2.5, layer III, 8 kHz.
    const isHeader = a === 0xff && (b & 0xfe) === 0xe2 && (c & 0x0c) === 0x08
    const bytes = 72 * (bitrates[c >> 4] ?? 0) * (1000 / 8000) + ((c >> 1) & 1)
    if (!isHeader || bytes < 5 || at + bytes > file.length) {
      stray++
      at++
      continue
    }
    stereo &&= d >> 6 !== 3
    frames++
    at += bytes
  }
  return { seconds: frames * 0.072, stereo, stray }
}
