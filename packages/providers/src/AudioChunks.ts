import { pcmToMulaw } from "./G711.ts"

/** How samples are written for a vendor: mu-law (ITU-T G.711), or PCM16, little-endian. */
export type ChunkEncoding = "mulaw" | "pcm16"

const bytesPerSample = (encoding: ChunkEncoding): number => (encoding === "mulaw" ? 1 : 2)

/** Writes `count` samples, from the one with index `from` on, into `out` at the sample `at`. */
const encode = (encoding: ChunkEncoding, samples: Int16Array, from: number, count: number, out: Buffer, at: number) => {
  if (encoding === "mulaw") {
    pcmToMulaw(samples, from, count, out, at)
    return
  }
  for (let i = 0; i < count; i++) out.writeInt16LE(samples[from + i] ?? 0, 2 * (at + i))
}

/** The bytes of samples in an encoding. */
export const encodedSamples = (encoding: ChunkEncoding, samples: Int16Array): Buffer => {
  const bytes = Buffer.allocUnsafe(samples.length * bytesPerSample(encoding))
  encode(encoding, samples, 0, samples.length, bytes, 0)
  return bytes
}

/** Collects samples into messages of a fixed length, for vendors that want fewer than one for each 20 ms. */
export class AudioChunks {
  /** Samples that were sent. */
  sent = 0
  readonly #encoding: ChunkEncoding
  readonly #samples: number
  readonly #send: (chunk: Buffer) => void
  #chunk: Buffer
  #length = 0

  /** `samples`: the length of a message. `send` may keep what it gets. */
  constructor(options: {
    readonly encoding: ChunkEncoding
    readonly samples: number
    readonly send: (chunk: Buffer) => void
  }) {
    this.#encoding = options.encoding
    this.#samples = options.samples
    this.#send = options.send
    this.#chunk = this.#empty()
  }

  #empty(): Buffer {
    return Buffer.allocUnsafe(this.#samples * bytesPerSample(this.#encoding))
  }

  /** Takes samples, of any number, and sends each message that is full. */
  push(samples: Int16Array): void {
    for (let from = 0; from < samples.length; ) {
      const count = Math.min(samples.length - from, this.#samples - this.#length)
      encode(this.#encoding, samples, from, count, this.#chunk, this.#length)
      this.#length += count
      from += count
      if (this.#length === this.#samples) this.flush()
    }
  }

  /** Sends what there is. Never an empty message, which some vendors take for the end. */
  flush(): void {
    if (this.#length === 0) return
    this.sent += this.#length
    this.#send(this.#chunk.subarray(0, this.#length * bytesPerSample(this.#encoding)))
    this.#chunk = this.#empty()
    this.#length = 0
  }
}
