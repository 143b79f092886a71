/**
 * Encoded audio on its way to the leg: a ring of bytes, and the utterance that each byte belongs to. Positions count
 * bytes since the start of the call. Written by text-to-speech, read once per 20 ms. An utterance is kept until it was
 * played, which is later than it was sent.
 */

interface Segment {
  readonly id: string
  readonly text: string
  readonly start: number
  /** Position after its last byte; -1 while it is being synthesized. */
  end: number
  started: boolean
  /** Pairs of a position and the characters spoken until there. */
  readonly aligned: Array<number>
}

/** Gets the progress of utterances. */
export interface PlayoutListener {
  readonly onStarted: (id: string) => void
  readonly onPlayed: (id: string) => void
}

/** Characters per second, for text-to-speech without alignment. */
const charactersPerSecond = 15

export class Playout {
  private readonly ring: Uint8Array
  private head = 0
  private used = 0
  private sent = 0
  private segments: Array<Segment> = []
  private waiting: Array<() => void> = []
  private readonly bytesPerSecond: number
  private readonly silence: number
  private readonly listener: PlayoutListener

  constructor(options: {
    readonly bytesPerSecond: number
    readonly silence: number
    readonly listener: PlayoutListener
  }) {
    this.bytesPerSecond = options.bytesPerSecond
    this.silence = options.silence
    this.listener = options.listener
    this.ring = new Uint8Array(2 * options.bytesPerSecond)
  }

  /** Bytes that can be written now. */
  get room(): number {
    return this.ring.length - this.used
  }

  get pending(): boolean {
    return this.used > 0
  }

  /** Position after the last byte that was sent. */
  get position(): number {
    return this.sent
  }

  /** Whether an utterance has been sent completely and was not reported as played. */
  get unconfirmed(): boolean {
    const first = this.segments[0]
    return first !== undefined && first.end !== -1 && first.end <= this.sent
  }

  /** Whether the end of an utterance was sent after `position`. */
  sentEndSince(position: number): boolean {
    for (const { end } of this.segments) if (end > position && end <= this.sent) return true
    return false
  }

  /** Whether a writer should wait: more than a second is buffered. */
  get full(): boolean {
    return this.used > this.ring.length / 2
  }

  /** Calls back once less than half a second is buffered, or after `clear`. */
  onDrained(callback: () => void): () => void {
    this.waiting.push(callback)
    return () => {
      this.waiting = this.waiting.filter((w) => w !== callback)
    }
  }

  begin(id: string, text: string): void {
    this.segments.push({ id, text, start: this.written, end: -1, started: false, aligned: [] })
  }

  /**
   * The first `bytes` of an utterance speak the first `characters` of its text. Neither may decrease. May come before or
   * after the audio; does nothing when the utterance has been played.
   */
  align(id: string, characters: number, bytes: number): void {
    const segment = this.segments.findLast((one) => one.id === id)
    segment?.aligned.push(segment.start + bytes, characters)
  }

  /** Ends the current utterance. Returns whether it had any audio. */
  end(): boolean {
    const segment = this.segments.at(-1)
    if (segment === undefined) return false
    segment.end = this.written
    if (segment.end > segment.start) return true
    this.segments.pop()
    return false
  }

  private get written(): number {
    return this.sent + this.used
  }

  /** Appends bytes produced by `fill(target, offset, count)`, in one or two runs; `count` must not exceed `room`. */
  write(count: number, fill: (target: Uint8Array, offset: number, count: number, done: number) => void): void {
    const tail = (this.head + this.used) % this.ring.length
    const first = Math.min(count, this.ring.length - tail)
    fill(this.ring, tail, first, 0)
    if (first < count) fill(this.ring, 0, count - first, first)
    this.used += count
  }

  /** Reads the next frame; false when there is none. The last, short frame of an utterance is padded with silence. */
  read(frame: Uint8Array): boolean {
    const count = Math.min(frame.length, this.used)
    if (count < frame.length) {
      const last = this.segments.at(-1)
      // The rest of the frame is still being synthesized. An utterance without audio so far is not waited for.
      const growing = last !== undefined && last.end === -1 && last.start < this.written
      if (count === 0 || growing) return false
      frame.fill(this.silence, count)
    }
    const first = Math.min(count, this.ring.length - this.head)
    frame.set(this.ring.subarray(this.head, this.head + first))
    if (first < count) frame.set(this.ring.subarray(0, count - first), first)
    this.head = (this.head + count) % this.ring.length
    this.used -= count
    this.sent += count
    if (this.used * 4 < this.ring.length) this.wakeWriters()
    return true
  }

  private wakeWriters(): void {
    if (this.waiting.length === 0) return
    const waiting = this.waiting
    this.waiting = []
    for (const wake of waiting) wake()
  }

  /**
   * Reports the utterances that were begun by what was sent, and those that end before `played`, the position until
   * which audio was played. The listener may call any method, this one too.
   */
  progress(played: number): void {
    for (;;) {
      const first = this.segments[0]
      if (first?.started === true && first.end !== -1 && first.end <= Math.min(played, this.sent)) {
        this.segments.shift()
        this.listener.onPlayed(first.id)
        continue
      }
      const next = this.firstUnreported()
      if (next === undefined) return
      next.started = true
      this.listener.onStarted(next.id)
    }
  }

  /** The first utterance that was begun and not reported as started. */
  private firstUnreported(): Segment | undefined {
    for (const segment of this.segments) if (!segment.started) return segment.start < this.sent ? segment : undefined
    return undefined
  }

  /** Drops all audio that was not sent. Returns how much of each unfinished utterance lies before `played`. */
  clear(played: number): ReadonlyArray<{ readonly id: string; readonly played: string }> {
    const heard = Math.min(played, this.sent)
    const cuts = this.segments.map((segment) => ({ id: segment.id, played: this.playedText(segment, heard) }))
    this.head = 0
    this.used = 0
    this.segments = []
    this.wakeWriters()
    return cuts
  }

  private playedText(segment: Segment, heard: number): string {
    if (heard <= segment.start) return ""
    const { aligned, end, start, text } = segment
    if (end !== -1 && heard >= end) return text
    if (aligned.length > 0) {
      let characters = 0
      for (let i = 0; i < aligned.length && (aligned[i] ?? 0) <= heard; i += 2) characters = aligned[i + 1] ?? 0
      return text.slice(0, characters)
    }
    const played = heard - start
    const share =
      end === -1 ? (played / this.bytesPerSecond) * charactersPerSecond : (played / (end - start)) * text.length
    // An estimate is only accurate to the word.
    const estimate = text.slice(0, Math.floor(share))
    return share >= text.length ? text : estimate.slice(0, Math.max(0, estimate.lastIndexOf(" ")))
  }
}
