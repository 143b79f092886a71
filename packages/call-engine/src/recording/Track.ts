import type { Codec } from "@svc/audio/Codec"

/**
 * One side of a recording: bytes in the leg's format, placed over silence by the media clock. A position counts samples
 * since the recording began. Called for every frame.
 *
 * Frames arrive late and in bursts, and during silence they may not arrive at all. A run of frames without a pause is
 * kept in one piece and placed by its frame with the least delay: when a later frame shows that the run arrived late,
 * the run moves back into the silence before it, so that neither a stall nor the burst after it leaves a gap.
 *
 * A side with a codec is written to exact positions by another clock: a frame that is not where it belongs is made a
 * sample longer or shorter, until it is.
 */

/** Samples by which a frame may be late and still follow the one before without a gap: 40 ms at 8 kHz. */
const lateness = (sampleRate: number): number => sampleRate / 25

/** Milliseconds that a frame may be off before it is made longer or shorter. */
const tolerance = 1

/** Seconds that are held: two that wait to be taken, one ahead, and two in case `take` is called late. */
const held = 5

export class Track {
  private readonly sampleRate: number
  private readonly sampleBytes: 1 | 2
  private readonly silence: number
  private readonly buffer: Uint8Array
  /** Position of the buffer's first sample. */
  private base = 0
  /** Position after the newest run, position of its start, and length of the silence before it. */
  private end = 0
  private runStart = 0
  private gap = 0
  private readonly codec: Codec | undefined
  private readonly pcm: Int16Array
  private readonly resized: Uint8Array

  constructor(options: {
    readonly sampleRate: number
    readonly sampleBytes: 1 | 2
    readonly silence: number
    readonly codec?: Codec
  }) {
    this.codec = options.codec
    this.pcm = new Int16Array(options.codec === undefined ? 0 : options.sampleRate / 50)
    this.resized = new Uint8Array((this.pcm.length + 1) * options.sampleBytes)
    this.sampleRate = options.sampleRate
    this.sampleBytes = options.sampleBytes
    this.silence = options.silence
    this.buffer = new Uint8Array(held * options.sampleRate * options.sampleBytes).fill(options.silence)
  }

  /** Places audio at `position`, or directly after the newest run when it belongs to it. */
  write(bytes: Uint8Array, position: number): void {
    const samples = Math.floor(bytes.length / this.sampleBytes)
    const gap = position - this.end
    if (gap > lateness(this.sampleRate) / (this.codec === undefined ? 1 : 2)) {
      this.gap = gap
      this.runStart = position
      this.end = position
    } else if (gap < 0 && this.gap > 0) this.moveBack(-gap)
    this.append(
      this.codec === undefined ? bytes : this.fitted(bytes, samples, position - this.end, this.codec),
      position
    )
  }

  private append(bytes: Uint8Array, position: number): void {
    const samples = Math.floor(bytes.length / this.sampleBytes)
    const at = (this.end - this.base) * this.sampleBytes
    const size = samples * this.sampleBytes
    // The sender is faster than real time: audio too far ahead is dropped.
    if (this.end - position > this.sampleRate || at + size > this.buffer.length || at < 0) return
    this.buffer.set(size === bytes.length ? bytes : bytes.subarray(0, size), at)
    this.end += samples
  }

  /** Places audio that later audio may replace, such as comfort noise. */
  fill(bytes: Uint8Array, position: number): void {
    const known = Math.max(0, this.end - position) * this.sampleBytes
    const at = (position - this.base) * this.sampleBytes + known
    if (known < bytes.length && at >= 0 && at + bytes.length - known <= this.buffer.length)
      this.buffer.set(bytes.subarray(known), at)
  }

  /** The frame, a sample longer where it comes `off` samples too late, or shorter. */
  private fitted(bytes: Uint8Array, samples: number, off: number, codec: Codec): Uint8Array {
    if (Math.abs(off) * 1000 <= tolerance * this.sampleRate || samples > this.pcm.length || samples < 2) return bytes
    const change = off > 0 ? 1 : -1
    const size = this.sampleBytes
    codec.decode(bytes, 0, samples, this.pcm, 0)
    // Where two neighbours are most alike it is heard least.
    let like = 0
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i + 1 < samples; i++) {
      const step = Math.abs((this.pcm[i + 1] ?? 0) - (this.pcm[i] ?? 0))
      if (step < least) {
        least = step
        like = i
      }
    }
    const kept = (like + 1) * size
    this.resized.set(bytes.subarray(0, kept))
    this.resized.set(bytes.subarray(kept - change * size, samples * size), kept)
    return this.resized.subarray(0, (samples + change) * size)
  }

  private moveBack(samples: number): void {
    const shift = Math.min(samples, this.gap, this.runStart - this.base)
    if (shift <= 0) return
    const from = (this.runStart - this.base) * this.sampleBytes
    const to = (this.end - this.base) * this.sampleBytes
    const bytes = shift * this.sampleBytes
    this.buffer.copyWithin(from - bytes, from, to)
    this.buffer.fill(this.silence, to - bytes, to)
    this.gap -= shift
    this.runStart -= shift
    this.end -= shift
  }

  /**
   * Takes the audio before `position`, with silence in gaps; audio that arrives later for that time is placed after it.
   */
  take(position: number): Uint8Array<ArrayBuffer> {
    const count = Math.max(0, position - this.base)
    const size = count * this.sampleBytes
    const taken = new Uint8Array(size).fill(this.silence, Math.min(size, this.buffer.length))
    taken.set(this.buffer.subarray(0, Math.min(size, this.buffer.length)))
    this.buffer.copyWithin(0, Math.min(size, this.buffer.length))
    this.buffer.fill(this.silence, Math.max(0, this.buffer.length - size))
    this.base += count
    if (this.end < this.base) {
      this.end = this.base
      this.gap = 0
    }
    this.runStart = Math.max(this.runStart, this.base)
    return taken
  }

  /** Position after the last sample. */
  get length(): number {
    return this.end
  }
}
