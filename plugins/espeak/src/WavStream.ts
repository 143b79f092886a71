/** Bytes before the samples in the program's output. */
const headerBytes = 44

/** In Hz, of all voices of the program. */
export const sampleRate = 22_050

const isExpected = (header: Buffer): boolean =>
  header.toString("latin1", 0, 4) === "RIFF" &&
  header.toString("latin1", 8, 16) === "WAVEfmt " &&
  header.readUInt16LE(20) === 1 &&
  header.readUInt16LE(22) === 1 &&
  header.readUInt32LE(24) === sampleRate &&
  header.readUInt16LE(34) === 16 &&
  header.toString("latin1", 36, 40) === "data"

/**
 * The samples of a WAV file that is written to a pipe: PCM16 mono at {@link sampleRate}. The lengths in its header mean
 * nothing, because the program does not know them when it begins.
 */
export class WavStream {
  #rest: Buffer = Buffer.alloc(0)
  #isHeaderRead = false

  /** The samples that are complete with these bytes, in an array of its own; undefined if it is no such file. */
  push(bytes: Buffer): Int16Array | undefined {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    let from = 0
    if (!this.#isHeaderRead) {
      if (all.length < headerBytes) {
        this.#rest = all
        return new Int16Array(0)
      }
      if (!isExpected(all)) return undefined
      this.#isHeaderRead = true
      from = headerBytes
    }
    const samples = new Int16Array((all.length - from) >> 1)
    for (let i = 0; i < samples.length; i++) samples[i] = all.readInt16LE(from + 2 * i)
    this.#rest = all.subarray(from + 2 * samples.length)
    return samples
  }

  /** Whether the file ended where one may end: it is empty, or has whole samples. */
  get isComplete(): boolean {
    return this.#rest.length === 0
  }
}
