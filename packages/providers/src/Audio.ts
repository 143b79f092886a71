/**
 * Audio. Inside, sound is PCM16 mono (`Int16Array`); at the edge it has the telephony's format. Frames are 20 ms.
 * Nothing here allocates per frame but where it says so.
 */

/** How samples are written at the edge. G.711 is one byte a sample. */
export type Encoding = "mulaw" | "alaw" | "pcm16"

/** A format of mono audio. `sampleRate` in Hz. */
export interface AudioFormat {
  readonly encoding: Encoding
  readonly sampleRate: 8000 | 16000 | 24000
}

/** The telephone network's usual format: mu-law, 8 kHz. */
export const mulaw8k: AudioFormat = { encoding: "mulaw", sampleRate: 8000 }

/** Length of a frame in milliseconds. */
export const frameMs = 20

/** Samples in one 20 ms frame. */
export const frameSamples = (format: AudioFormat): number => (format.sampleRate / 1000) * frameMs

/** Bytes in one 20 ms frame. */
export const frameBytes = (format: AudioFormat): number => frameSamples(format) * (format.encoding === "pcm16" ? 2 : 1)
