/** Reads PCM16 (little-endian) that comes in pieces, which may be cut within a sample. */
export class Pcm16Reader {
  #rest: Buffer = Buffer.alloc(0)

  /** The samples that are whole with these bytes, which are valid only during the call. */
  read(bytes: Uint8Array): Int16Array {
    const isAligned = this.#rest.length === 0
    const all = isAligned
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : Buffer.concat([this.#rest, bytes])
    const samples = new Int16Array(all.length >> 1)
    for (let i = 0; i < samples.length; i++) samples[i] = all.readInt16LE(2 * i)
    this.#rest = Buffer.from(all.subarray(2 * samples.length))
    return samples
  }

  /** Whether the bytes until now end with a sample. */
  get isWhole(): boolean {
    return this.#rest.length === 0
  }
}
