/**
 * One side of a call on its way into a recording: bytes in the leg's format, laid over silence by the media clock. A
 * position is a sample since the recording began. Plain code, called for every frame.
 *
 * Frames come late and in bunches, and not at all in silence. A run of frames without a pause is kept in one piece. It is
 * placed by the frame of it that came with the least delay: while later frames prove that the run came late, it moves
 * back into the silence before it, so that neither a stall nor its burst of frames leaves a hole.
 */

/** Samples by which a frame may be late and still follow the one before without a gap: 40 ms at 8 kHz. */
const lateness = (sampleRate: number): number => sampleRate / 25

/** Seconds that are held: two that wait to be taken, a second of lead, and room for a taker that is late. */
const held = 5

export class Track {
  private readonly sampleRate: number
  private readonly sampleBytes: 1 | 2
  private readonly silence: number
  private readonly buffer: Uint8Array
  /** Position of the buffer's first sample. */
  private base = 0
  /** Position after the last sample of the newest run, where that began, and the silence before it. */
  private end = 0
  private runStart = 0
  private gap = 0

  constructor(options: { readonly sampleRate: number; readonly sampleBytes: 1 | 2; readonly silence: number }) {
    this.sampleRate = options.sampleRate
    this.sampleBytes = options.sampleBytes
    this.silence = options.silence
    this.buffer = new Uint8Array(held * options.sampleRate * options.sampleBytes).fill(options.silence)
  }

  /** Lays down audio that belongs at `position`, or after what is there already when it comes in a run. */
  write(bytes: Uint8Array, position: number): void {
    const samples = Math.floor(bytes.length / this.sampleBytes)
    const late = position - this.end
    if (late > lateness(this.sampleRate)) {
      this.gap = late
      this.runStart = position
      this.end = position
    } else if (late < 0 && this.gap > 0) this.moveBack(-late)
    const at = (this.end - this.base) * this.sampleBytes
    const size = samples * this.sampleBytes
    // Somebody sends faster than anybody listens: what is too far ahead is left out.
    if (this.end - position > this.sampleRate || at + size > this.buffer.length || at < 0) return
    this.buffer.set(size === bytes.length ? bytes : bytes.subarray(0, size), at)
    this.end += samples
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

  /** Takes what lies before `position`, silence where nothing is; what comes later for that time is placed after it. */
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
