import { mulawToPcm, pcmToMulaw } from "../G711.ts"

/** Milliseconds that each character of a text takes. */
export const characterMs = 40

const samplesOf = (sampleRate: number): number => (sampleRate * characterMs) / 1000

/** Bytes of mu-law that spell a text of latin-1: each character is the code with its number, for {@link characterMs}. */
export const spelledMulaw = (text: string, sampleRate: number): Uint8Array => {
  const length = samplesOf(sampleRate)
  const codes = new Uint8Array(text.length * length)
  for (let i = 0; i < codes.length; i++) codes[i] = text.charCodeAt(Math.floor(i / length)) & 0xff
  return codes
}

/** The same as PCM16, little-endian. */
export const spelledPcm = (text: string, sampleRate: number): Uint8Array => {
  const codes = spelledMulaw(text, sampleRate)
  const samples = new Int16Array(codes.length)
  mulawToPcm(codes, 0, codes.length, samples, 0)
  const bytes = Buffer.alloc(2 * samples.length)
  for (const [n, sample] of samples.entries()) bytes.writeInt16LE(sample, 2 * n)
  return bytes
}

/** What such sound says, when it has passed a codec of telephones. */
export const spelledIn = (samples: Int16Array, sampleRate: number): string => {
  const codes = new Uint8Array(samples.length)
  pcmToMulaw(samples, 0, samples.length, codes, 0)
  const length = samplesOf(sampleRate)
  return Array.from({ length: Math.round(samples.length / length) }, (_, n) =>
    String.fromCharCode(codes[Math.floor((n + 0.5) * length)] ?? 0)
  ).join("")
}
