/**
 * Audio formats. Inside the platform audio is PCM16 mono (`Int16Array`); a call leg has the format of its telephone
 * network. Frames are 20 ms.
 */

/** How samples are encoded. G.711 (mu-law, A-law) has one byte per sample. */
export type Encoding = "mulaw" | "alaw" | "pcm16"

/** A format of mono audio. `sampleRate` in Hz. */
export interface AudioFormat {
  readonly encoding: Encoding
  readonly sampleRate: 8000 | 16000 | 24000
}

/** The telephone network's usual format: mu-law, 8 kHz. */
export const mulaw8k: AudioFormat = { encoding: "mulaw", sampleRate: 8000 }

/**
 * The formats that a call leg may have, in the engine's order of preference: wide-band where the network has it, else the
 * network's own G.711 law.
 */
export const legFormats: ReadonlyArray<AudioFormat> = [
  { encoding: "pcm16", sampleRate: 16_000 },
  mulaw8k,
  { encoding: "alaw", sampleRate: 8000 },
  { encoding: "pcm16", sampleRate: 8000 }
]

/** Length of a frame in milliseconds. */
export const frameMs = 20

/** Samples in one 20 ms frame. */
export const frameSamples = (format: AudioFormat): number => (format.sampleRate / 1000) * frameMs

/** Bytes in one 20 ms frame. */
export const frameBytes = (format: AudioFormat): number => frameSamples(format) * (format.encoding === "pcm16" ? 2 : 1)
