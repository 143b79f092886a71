/**
 * Vectors as they are stored and compared. A vector has the length 1, so that the product of two is the cosine of their
 * angle. Its code has a few bits for each number: enough to tell which vectors may be near.
 */

/** The same direction with the length 1. Undefined for a vector that has none: only zeros, or numbers that are not finite. */
export const unitVector = (vector: ArrayLike<number>): Float32Array | undefined => {
  let largest = 0
  for (let at = 0; at < vector.length; at++) largest = Math.max(largest, Math.abs(vector[at] ?? 0))
  if (!(largest > 0) || !Number.isFinite(largest)) return undefined
  let sum = 0
  for (let at = 0; at < vector.length; at++) sum += ((vector[at] ?? 0) / largest) ** 2
  const length = Math.sqrt(sum)
  const unit = new Float32Array(vector.length)
  for (let at = 0; at < unit.length; at++) unit[at] = (vector[at] ?? 0) / largest / length
  return unit
}

/** The numbers, least significant byte first. */
export const bytesOf = (vector: Float32Array): Uint8Array => {
  const bytes = Buffer.alloc(vector.length * 4)
  for (let at = 0; at < vector.length; at++) bytes.writeFloatLE(vector[at] ?? 0, at * 4)
  return bytes
}

/** How the numbers of vectors of some dimensions are coded. */
interface Coding {
  /** Of each number: 1, 2 or 4. */
  readonly bits: number
  /** Between two values of a code, for vectors of the length 1. */
  readonly step: number
}

/** Most bytes of a code that has more than one bit for each number: comparing all passages takes as long as they are. */
const maxBytes = 192
/** Steps of the best uniform quantizer of normally distributed numbers; see Max, IRE Transactions on Information Theory, 1960. */
const steps = new Map([
  [1, 1.596],
  [2, 0.996],
  [4, 0.335]
])

const codingOf = (dimensions: number): Coding => {
  const bits = [4, 2].find((count) => dimensions * count <= maxBytes * 8) ?? 1
  return { bits, step: (steps.get(bits) ?? 1) / Math.sqrt(dimensions) }
}

/** Bytes of the code of a vector: a multiple of 4, for which `nearest` is written. */
export const codeBytes = (dimensions: number): number => 4 * Math.ceil((dimensions * codingOf(dimensions).bits) / 32)

/** The code of a vector: its numbers in 1, 2 or 4 bits each, as many as are possible in 192 bytes, the first in the lowest bits. */
export const codeOf = (vector: Float32Array): Uint8Array => {
  const { bits, step } = codingOf(vector.length)
  const values = 1 << bits
  const code = new Uint8Array(codeBytes(vector.length))
  for (let at = 0; at < vector.length; at++) {
    const value = Math.min(values - 1, Math.max(0, Math.floor((vector[at] ?? 0) / step) + values / 2))
    const byte = (at * bits) >> 3
    code[byte] = (code[byte] ?? 0) | (value << ((at * bits) & 7))
  }
  return code
}

/** The cosine of a vector and a stored one, both of the length 1 and of the same dimensions. */
export const cosine = (vector: Float32Array, stored: Uint8Array): number => {
  const numbers = new DataView(stored.buffer, stored.byteOffset, stored.byteLength)
  let sum = 0
  for (let at = 0; at < vector.length; at++) sum += (vector[at] ?? 0) * numbers.getFloat32(at * 4, true)
  return sum
}

/** How much each value of each byte of a code says for being near a vector: 256 numbers for each byte. */
export const codeTable = (vector: Float32Array): Float32Array => {
  const { bits, step } = codingOf(vector.length)
  const values = 1 << bits
  const numbers = 8 / bits
  const table = new Float32Array(codeBytes(vector.length) * 256)
  for (let at = 0; at < table.length; at++) {
    const first = (at >> 8) * numbers
    let sum = 0
    for (let n = 0; n < numbers; n++) {
      const value = (at >> (n * bits)) & (values - 1)
      sum += (vector[first + n] ?? 0) * (value - values / 2 + 0.5) * step
    }
    table[at] = sum
  }
  return table
}

/** The codes of the passages of a base, in the order of their positions. */
export interface BaseCodes {
  readonly base_id: number
  readonly positions: Uint16Array
  /** One after the other. */
  readonly codes: Uint8Array
}

/** A passage that may be near. */
export interface NearPlace {
  readonly base_id: number
  readonly position: number
  /** For comparison only. */
  readonly estimate: number
}

/** Bytes of codes that are compared between two pauses: about 1 ms. */
const bytesAtOnce = 1024 * 1024

const byEstimate = (a: NearPlace, b: NearPlace): number =>
  b.estimate - a.estimate || a.base_id - b.base_id || a.position - b.position

/** The passages whose codes are nearest to a vector, best first. In steps, between which other work may run. */
export function* nearest(
  query: Float32Array,
  bases: Iterable<BaseCodes>,
  limit: number
): Generator<undefined, ReadonlyArray<NearPlace>> {
  const table = codeTable(query)
  const size = table.length / 256
  const found: Array<NearPlace> = []
  let least = Number.NEGATIVE_INFINITY
  let compared = 0
  const trim = () => {
    found.sort(byEstimate)
    if (found.length < limit) return
    found.length = limit
    least = found.at(-1)?.estimate ?? least
  }
  for (const { base_id, codes, positions } of bases) {
    for (let row = 0; row < positions.length; row++) {
      const from = row * size
      // Four sums, because one addition has to wait for the one before.
      let [first, second, third, fourth] = [0, 0, 0, 0]
      for (let byte = 0, at = 0; byte < size; byte += 4, at += 1024) {
        first += table[at + (codes[from + byte] ?? 0)] ?? 0
        second += table[at + 256 + (codes[from + byte + 1] ?? 0)] ?? 0
        third += table[at + 512 + (codes[from + byte + 2] ?? 0)] ?? 0
        fourth += table[at + 768 + (codes[from + byte + 3] ?? 0)] ?? 0
      }
      const estimate = first + second + third + fourth
      if (estimate > least) {
        found.push({ base_id, position: positions[row] ?? 0, estimate })
        if (found.length >= 4 * limit) trim()
      }
      compared += size
      if (compared < bytesAtOnce) continue
      compared = 0
      yield
    }
  }
  trim()
  return found
}
