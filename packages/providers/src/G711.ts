/**
 * Encodes and decodes mu-law and A-law (ITU-T G.711) over ranges of typed arrays. PCM is 16 bits wide: the codec's
 * 14-bit (mu-law) and 13-bit (A-law) values are left-aligned in it. Encoding uses the decision values of the standard,
 * and a decoded value encodes to its original code. The functions do not allocate; a range must lie within its arrays.
 */

const muBias = 0x84
const muClip = 32635

const muDecode = (code: number): number => {
  const u = ~code & 0xff
  const magnitude = (((u & 0x0f) << 3) + muBias) << ((u & 0x70) >> 4)
  return (u & 0x80) !== 0 ? muBias - magnitude : magnitude - muBias
}

const muEncode = (sample: number): number => {
  const sign = sample < 0 ? 0x80 : 0
  const magnitude = Math.min(Math.abs(sample), muClip) + muBias
  // The leading one of the biased magnitude is at bit 7 (segment 0) to 14 (segment 7).
  const segment = 24 - Math.clz32(magnitude)
  return ~(sign | (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f)) & 0xff
}

const aDecode = (code: number): number => {
  const a = code ^ 0x55
  const segment = (a & 0x70) >> 4
  const step = (a & 0x0f) << 4
  const magnitude = segment === 0 ? step + 8 : (step + 0x108) << (segment - 1)
  return (a & 0x80) !== 0 ? magnitude : -magnitude
}

const aEncode = (sample: number): number => {
  const sign = sample < 0 ? 0 : 0x80
  // Negative values are one's complement, so that -1 lies in the interval next to zero.
  const magnitude = sample < 0 ? ~sample : sample
  const segment = magnitude < 256 ? 0 : 24 - Math.clz32(magnitude)
  const step = segment === 0 ? magnitude >> 4 : (magnitude >> (segment + 3)) & 0x0f
  return (sign | (segment << 4) | step) ^ 0x55
}

const decodeTable = (decode: (code: number) => number): Int16Array =>
  Int16Array.from({ length: 256 }, (_, i) => decode(i))
const encodeTable = (encode: (sample: number) => number): Uint8Array =>
  Uint8Array.from({ length: 65_536 }, (_, i) => encode((i << 16) >> 16))

const muToPcm = decodeTable(muDecode)
const pcmToMu = encodeTable(muEncode)
const aToPcm = decodeTable(aDecode)
const pcmToA = encodeTable(aEncode)

const decodeRange = (
  table: Int16Array,
  bytes: Uint8Array,
  byteOffset: number,
  count: number,
  out: Int16Array,
  outOffset: number
): void => {
  for (let i = 0; i < count; i++) out[outOffset + i] = table[bytes[byteOffset + i] ?? 0] ?? 0
}

const encodeRange = (
  table: Uint8Array,
  pcm: Int16Array,
  offset: number,
  count: number,
  out: Uint8Array,
  outOffset: number
): void => {
  for (let i = 0; i < count; i++) out[outOffset + i] = table[(pcm[offset + i] ?? 0) & 0xffff] ?? 0
}

/** Decodes `count` mu-law bytes from `byteOffset` on into PCM16 from `outOffset` on. */
export const mulawToPcm = (
  bytes: Uint8Array,
  byteOffset: number,
  count: number,
  out: Int16Array,
  outOffset: number
): void => decodeRange(muToPcm, bytes, byteOffset, count, out, outOffset)

/** Encodes `count` PCM16 samples from `offset` on into mu-law bytes from `outOffset` on. */
export const pcmToMulaw = (pcm: Int16Array, offset: number, count: number, out: Uint8Array, outOffset: number): void =>
  encodeRange(pcmToMu, pcm, offset, count, out, outOffset)

/** Decodes `count` A-law bytes from `byteOffset` on into PCM16 from `outOffset` on. */
export const alawToPcm = (
  bytes: Uint8Array,
  byteOffset: number,
  count: number,
  out: Int16Array,
  outOffset: number
): void => decodeRange(aToPcm, bytes, byteOffset, count, out, outOffset)

/** Encodes `count` PCM16 samples from `offset` on into A-law bytes from `outOffset` on. */
export const pcmToAlaw = (pcm: Int16Array, offset: number, count: number, out: Uint8Array, outOffset: number): void =>
  encodeRange(pcmToA, pcm, offset, count, out, outOffset)

/** The byte of silence: mu-law zero. */
export const mulawSilence = 0xff

/** The byte of silence: the smallest positive A-law value (A-law has no zero). */
export const alawSilence = 0xd5
