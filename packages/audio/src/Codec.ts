import type { AudioFormat } from "@svc/providers/Audio"
import { alawToPcm, mulawToPcm, pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"

/** Converts between a leg's bytes and PCM16; chosen once per call. */
export interface Codec {
  readonly bytesPerSample: 1 | 2
  /** The byte for silence. */
  readonly silence: number
  readonly decode: (bytes: Uint8Array, byteOffset: number, samples: number, out: Int16Array, outOffset: number) => void
  readonly encode: (pcm: Int16Array, offset: number, samples: number, out: Uint8Array, byteOffset: number) => void
}

const mulaw: Codec = { bytesPerSample: 1, silence: 0xff, decode: mulawToPcm, encode: pcmToMulaw }
const alaw: Codec = { bytesPerSample: 1, silence: 0xd5, decode: alawToPcm, encode: pcmToAlaw }

/** Linear PCM, little-endian. */
const pcm16: Codec = {
  bytesPerSample: 2,
  silence: 0,
  decode: (bytes, byteOffset, samples, out, outOffset) => {
    for (let i = 0; i < samples; i++) {
      const at = byteOffset + 2 * i
      out[outOffset + i] = (((bytes[at + 1] ?? 0) << 24) >> 16) | (bytes[at] ?? 0)
    }
  },
  encode: (pcm, offset, samples, out, byteOffset) => {
    for (let i = 0; i < samples; i++) {
      const x = pcm[offset + i] ?? 0
      out[byteOffset + 2 * i] = x & 255
      out[byteOffset + 2 * i + 1] = (x >> 8) & 255
    }
  }
}

export const codecOf = (format: AudioFormat): Codec =>
  format.encoding === "mulaw" ? mulaw : format.encoding === "alaw" ? alaw : pcm16

/** The length of the rise, in samples: 5 ms at 8 kHz. */
const fadeSamples = 40

/** Lets a frame rise from silence, so that speech that goes on within a sound does not begin with a click. `pcm`: room for its samples. */
export const fadeIn = (codec: Codec, frame: Uint8Array, pcm: Int16Array): void => {
  codec.decode(frame, 0, pcm.length, pcm, 0)
  const ramp = Math.min(fadeSamples, pcm.length)
  for (let n = 0; n < ramp; n++) pcm[n] = Math.round(((pcm[n] ?? 0) * n) / ramp)
  codec.encode(pcm, 0, pcm.length, frame, 0)
}
