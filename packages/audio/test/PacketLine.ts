import { codecOf } from "../src/Codec.ts"
import { JitterBuffer } from "../src/JitterBuffer.ts"

export const rate = 8000
const codec = codecOf({ encoding: "pcm16", sampleRate: rate })

export interface Packet {
  /** When it arrives, in ms. */
  readonly at: number
  readonly sequence: number
  readonly timestamp: number
  readonly samples: Int16Array
}

export const bytesOf = (samples: Int16Array): Uint8Array => {
  const bytes = new Uint8Array(2 * samples.length)
  codec.encode(samples, 0, samples.length, bytes, 0)
  return bytes
}

/** A jitter buffer in PCM16 at 8 kHz that is ticked every 20 ms, and what it passes on. */
export class PacketLine {
  now = 0
  readonly frames: Array<{ readonly pcm: Int16Array; readonly at: number; readonly isSilence: boolean; now: number }> =
    []
  readonly buffer = new JitterBuffer({
    sampleRate: rate,
    codec,
    onFrame: (pcm, at, isSilence) => this.frames.push({ pcm: pcm.slice(), at, isSilence, now: this.now })
  })
  #ticked = 0
  active = false

  /** Delivers packets at their times, and goes on until `until`. */
  run(packets: ReadonlyArray<Packet>, until: number): void {
    for (const packet of packets.toSorted((a, b) => a.at - b.at)) {
      this.#tickUntil(packet.at)
      this.now = packet.at
      this.buffer.pushPacket(bytesOf(packet.samples), packet.sequence, packet.timestamp, packet.at)
      this.active = true
    }
    this.#tickUntil(until)
  }

  /** Audio of a leg without gaps. */
  push(samples: Int16Array, at: number): void {
    this.#tickUntil(at)
    this.now = at
    this.buffer.push(bytesOf(samples), at)
    this.active = true
  }

  #tickUntil(time: number): void {
    while (this.#ticked + 20 <= time) {
      this.#ticked += 20
      this.now = this.#ticked
      this.active = this.buffer.tick(this.now)
    }
    this.now = time
  }

  get pcm(): Array<number> {
    return this.frames.flatMap(({ pcm }) => [...pcm])
  }
}

/** Numbered samples from 1 on; 0 is silence. */
export const numbered = (from: number, count: number): Int16Array =>
  Int16Array.from({ length: count }, (_, i) => ((from + i) % 30_000) + 1)

/** Packets of these lengths in samples, sent without a pause, that arrive when their last sample was spoken. */
export const packetsOf = (
  lengths: ReadonlyArray<number>,
  options: {
    readonly sequence?: number
    readonly timestamp?: number
    readonly from?: number
    readonly ppm?: number
  } = {}
): Array<Packet> => {
  const { from = 0, ppm = 0, sequence = 0, timestamp = 0 } = options
  let position = 0
  return lengths.map((length, i) => {
    const samples = numbered(position, length)
    const start = position
    position += length
    return {
      at: from + (position / 8) * (1 - ppm / 1e6),
      sequence: (sequence + i) & 0xffff,
      timestamp: (timestamp + start) >>> 0,
      samples
    }
  })
}

export const twenties = (count: number): ReadonlyArray<number> => new Array<number>(count).fill(160)

/** Where samples are not those numbered from `from` on, as `index: got instead of wanted`; empty: nowhere. */
export const difference = (pcm: ReadonlyArray<number>, from: number): string => {
  const at = pcm.findIndex((sample, i) => sample !== ((from + i) % 30_000) + 1)
  return at < 0 ? "" : `${at}: ${pcm[at]} instead of ${((from + at) % 30_000) + 1}`
}
