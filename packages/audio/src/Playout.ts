import { Alignment, wordStart } from "./Alignment.ts"

/**
 * Encoded audio on its way to the leg: a ring of bytes, and the turn and utterance that each byte belongs to. Positions
 * count bytes since the start of the call. Written by text-to-speech, read once per 20 ms. A turn is kept until it was
 * played, which is later than it was sent; what was sent last is kept as well, so that stopped speech can go on from a
 * word that was cut.
 */

/** A text within a turn: the characters `from` to `to` of the turn's text. */
interface Utterance {
  readonly id: string
  readonly from: number
  readonly to: number
}

/** Speech that text-to-speech synthesizes as one, with one or more utterances. */
interface Turn {
  text: string
  /** Those that were not reported as played, oldest first, and whether the first was reported as started. */
  utterances: Array<Utterance>
  isStarted: boolean
  start: number
  /** Position after its last byte; -1 while it is being synthesized. */
  end: number
  readonly alignment: Alignment
  /** More text may follow. */
  isOpen: boolean
  /** Characters that were reported as played when the turn was stopped. */
  heard: number
}

/** What was played of an utterance. `held`: its audio is kept. */
export interface Cut {
  readonly id: string
  readonly played: string
  readonly held?: true
}

/** Gets the progress of utterances. */
export interface PlayoutListener {
  readonly onStarted: (id: string) => void
  /** `end`: the position at which it ended, as far as that is known. */
  readonly onPlayed: (id: string, end: number) => void
}

/** Seconds of audio that wait to be sent at most, and that are kept at least after they were sent. */
const aheadSeconds = 2
const keptSeconds = 2
/** How much later than estimated, in seconds, an utterance counts as played whose turn goes on without alignment. */
const doubtSeconds = 2

export class Playout {
  private readonly ring: Uint8Array
  private readonly capacity: number
  /** Bytes of a whole frame. */
  readonly frameBytes: number
  private head = 0
  private used = 0
  private sent = 0
  /** Bytes before `head` that can be sent again, as far as the ring still has them. */
  private behind = 0
  private turns: Array<Turn> = []
  private isHeld = false
  /** Position until which it was played when it was stopped. */
  private heldAt = 0
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
    this.frameBytes = options.bytesPerSecond / 50
    this.capacity = aheadSeconds * options.bytesPerSecond
    this.ring = new Uint8Array(this.capacity + keptSeconds * options.bytesPerSecond)
  }

  /** Bytes that can be written now. */
  get room(): number {
    return this.capacity - this.used
  }

  get pending(): boolean {
    return this.used > 0
  }

  /** Whether a whole frame waits, or speech is held. */
  get busy(): boolean {
    return this.isHeld || this.used >= this.frameBytes
  }

  /** Whether there is audio to go on with. */
  get canHold(): boolean {
    const first = this.turns[0]
    return first !== undefined && first.start < this.written
  }

  /** Position after the last byte that was sent. */
  get position(): number {
    return this.sent
  }

  /** Whether all that was written of a turn has been sent, and it was not reported as played. */
  get unconfirmed(): boolean {
    const first = this.turns[0]
    if (first === undefined || this.isHeld) return false
    if (first.end !== -1) return first.end <= this.sent
    return first.isOpen && first.utterances.length > 0 && first.start < this.sent && this.used < this.frameBytes
  }

  /** Whether the position until which audio was played matters now. */
  get awaitsPlayed(): boolean {
    const first = this.turns[0]
    return this.unconfirmed || (first !== undefined && first.utterances.length > 1)
  }

  /** Whether the end of a turn was sent after `position`. */
  sentEndSince(position: number): boolean {
    for (const { end } of this.turns) if (end > position && end <= this.sent) return true
    return false
  }

  /** Whether a writer should wait: more than a second is buffered. */
  get full(): boolean {
    return this.used > this.capacity / 2
  }

  /** Calls back once less than half a second is buffered, or after `clear`. */
  onDrained(callback: () => void): () => void {
    this.waiting.push(callback)
    return () => {
      this.waiting = this.waiting.filter((w) => w !== callback)
    }
  }

  /** Begins a turn: what is written from now on belongs to it. `isOpen`: it may get more text until `endText`. */
  begin(isOpen: boolean): void {
    this.turns.push({
      isOpen,
      text: "",
      utterances: [],
      isStarted: false,
      start: this.written,
      end: -1,
      alignment: new Alignment(this.bytesPerSecond),
      heard: 0
    })
  }

  /** No text follows in the turn that was begun last. */
  endText(): void {
    const turn = this.turns.at(-1)
    if (turn !== undefined) turn.isOpen = false
  }

  /** Adds an utterance to the turn that was begun last, after `space`. */
  say(id: string, space: string, text: string): void {
    const turn = this.turns.at(-1)
    if (turn === undefined || turn.end !== -1) return
    const from = turn.text.length + space.length
    turn.text += space + text
    turn.utterances.push({ id, from, to: turn.text.length })
  }

  /**
   * The first `bytes` of the turn that was begun last speak the first `characters` of its text. May come before or after
   * the audio. Ignored are characters that were not said.
   */
  align(characters: number, bytes: number): void {
    const turn = this.turns.at(-1)
    if (turn === undefined || turn.end !== -1 || characters > turn.text.length) return
    turn.alignment.add(bytes, characters)
  }

  /**
   * Ends the turn that was begun last. Returns the ids of its utterances of which there is no audio, or not all, oldest
   * first. `isComplete`: if there is any audio, there is all.
   */
  end(isComplete: boolean): ReadonlyArray<string> {
    const turn = this.turns.at(-1)
    if (turn === undefined || turn.end !== -1) return []
    const length = this.written - turn.start
    const spoken = length === 0 ? 0 : isComplete ? turn.text.length : this.charactersAt(turn, this.written)
    const unspoken = turn.utterances.filter(({ to }) => length === 0 || to > spoken)
    turn.utterances = turn.utterances.filter(({ from }) => from < spoken)
    turn.text = turn.text.slice(0, spoken)
    turn.end = this.written
    if (length === 0) this.turns.pop()
    return unspoken.map(({ id }) => id)
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

  /** Reads the next frame; false when there is none. The last, short frame of a turn is padded with silence. */
  read(frame: Uint8Array): boolean {
    const count = Math.min(frame.length, this.used)
    if (count < frame.length) {
      const last = this.turns.at(-1)
      // The rest of the frame is still being synthesized. A turn without audio so far is not waited for.
      const growing = last !== undefined && last.end === -1 && last.start < this.written
      if (count === 0 || growing) return false
      frame.fill(this.silence, count)
    }
    const { head, ring } = this
    const first = Math.min(count, ring.length - head)
    // Byte by byte: for so few, a part of the array would take longer to make.
    for (let i = 0; i < first; i++) frame[i] = ring[head + i] as number
    for (let i = first; i < count; i++) frame[i] = ring[i - first] as number
    this.head = (this.head + count) % this.ring.length
    this.used -= count
    this.sent += count
    this.behind += count
    if (this.used * 4 < this.capacity) this.wakeWriters()
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
      if (this.isHeld) return
      const first = this.turns[0]
      const utterance = first?.utterances[0]
      if (first !== undefined && utterance === undefined && first.end !== -1 && first.end <= this.sent) {
        this.turns.shift()
        continue
      }
      if (first?.isStarted === true && utterance !== undefined && this.isPlayed(first, utterance, played)) {
        const end = this.endOf(first, utterance, played)
        first.utterances.shift()
        first.isStarted = false
        if (first.utterances.length === 0 && first.end !== -1) this.turns.shift()
        this.listener.onPlayed(utterance.id, end)
        continue
      }
      const next = this.unstarted()
      const begun = next?.utterances[0]
      if (next === undefined || begun === undefined) return
      next.isStarted = true
      this.listener.onStarted(begun.id)
    }
  }

  /** The oldest turn, if audio of its next utterance was sent and that was not reported: each begins after the last. */
  private unstarted(): Turn | undefined {
    const turn = this.turns[0]
    const next = turn?.utterances[0]
    if (turn === undefined || next === undefined || turn.isStarted || turn.start >= this.sent) return undefined
    const isFirst = next.from === 0
    return isFirst || (turn.end !== -1 && turn.end <= this.sent) || this.charactersAt(turn, this.sent) > next.from
      ? turn
      : undefined
  }

  /** Whether an utterance of a turn was played: for certain, or by an estimate with a margin. */
  private isPlayed(turn: Turn, { to }: Utterance, played: number): boolean {
    const { alignment, end, isOpen, start, text } = turn
    const heard = Math.min(played, this.sent)
    if (end !== -1 && end <= heard) return true
    const isLast = to === text.length
    if (heard <= start || (isLast && !isOpen)) return false
    // All that was written is played: the last word has its rest.
    const isSilent = end === -1 && heard > this.written - this.frameBytes
    if (alignment.isKnown) {
      const known = isLast && !isSilent ? undefined : alignment.knownEnd(to)
      return known !== undefined && start + known <= heard
    }
    const doubt = isSilent ? 0 : doubtSeconds * this.bytesPerSecond
    return !(isLast && !isSilent) && this.charactersAt(turn, heard - doubt) >= to
  }

  /** Where an utterance that was played ended: its alignment may have come later than that. */
  private endOf({ alignment, end, start, text }: Turn, { to }: Utterance, played: number): number {
    const known = alignment.knownEnd(to)
    const last = end === -1 ? this.written : end
    const isLast = to === text.length
    return Math.min(played, this.sent, !isLast && known !== undefined ? start + known : last)
  }

  /** Drops all audio that was not sent. Returns how much of each unfinished utterance lies before `played`. */
  clear(played: number): ReadonlyArray<Cut> {
    const cuts = this.turns.flatMap((turn) => this.cutsOf(turn, played))
    this.head = 0
    this.used = 0
    this.behind = 0
    this.turns = []
    this.isHeld = false
    this.wakeWriters()
    return cuts
  }

  /** Nothing is sent any more until `resume` or `clear`. Returns what `clear` does, and which utterances can go on. */
  hold(played: number): ReadonlyArray<Cut> {
    const from = this.resumePosition(played)
    const canResume = this.sent - from <= this.kept
    const cuts = this.turns.flatMap((turn) => this.cutsOf(turn, played, canResume))
    for (const turn of this.turns) turn.heard = this.charactersAt(turn, Math.min(played, this.sent))
    this.isHeld = true
    this.heldAt = played
    return cuts
  }

  /**
   * Goes on where it was stopped, from the beginning of the word that was cut. Reports the utterances as played of which all
   * words were.
   */
  resume(): void {
    if (!this.isHeld) return
    const heard = Math.min(this.heldAt, this.sent)
    const back = Math.min(this.sent - this.resumePosition(heard), this.kept)
    this.isHeld = false
    // All of their words were heard, or should have been where the voice tells no times.
    const isHeard = ({ end, heard: characters }: Turn, { to }: Utterance) =>
      (end !== -1 && end <= heard) || to <= characters
    const over = this.turns.flatMap((turn) => turn.utterances.filter((utterance) => isHeard(turn, utterance)))
    this.turns = this.turns.filter(({ end }) => end === -1 || end > heard)
    for (const turn of this.turns) {
      turn.start += back
      if (turn.end !== -1) turn.end += back
      turn.utterances = turn.utterances.filter(({ to }) => to > turn.heard)
      turn.isStarted = false
    }
    this.head = (this.head - back + this.ring.length) % this.ring.length
    this.used += back
    this.behind -= back
    for (const { id } of over) {
      this.listener.onStarted(id)
      this.listener.onPlayed(id, heard)
    }
  }

  /** Bytes before `head` that the ring still has. */
  private get kept(): number {
    return Math.min(this.behind, this.ring.length - this.used)
  }

  /** Where speech goes on that was heard until `played`: at the beginning of the word, or a little before it. */
  private resumePosition(played: number): number {
    const heard = Math.min(played, this.sent)
    const turn = this.turns.find(({ end }) => end === -1 || end > heard)
    if (turn === undefined || heard <= turn.start) return turn === undefined ? heard : turn.start
    const characters = wordStart(turn.text, this.charactersAt(turn, heard))
    const { alignment, text } = turn
    const position = turn.start + alignment.positionAt(characters, text, this.lengthOf(turn))
    // Whole samples.
    return Math.min(heard, Math.max(turn.start, position - (position % 2)))
  }

  private lengthOf({ end, start }: Turn): number | undefined {
    return end === -1 ? undefined : end - start
  }

  private charactersAt(turn: Turn, position: number): number {
    const characters = turn.alignment.charactersAt(position - turn.start, turn.text, this.lengthOf(turn))
    return Math.max(turn.heard, characters)
  }

  private cutsOf(turn: Turn, played: number, held = false): ReadonlyArray<Cut> {
    const heard = this.charactersAt(turn, Math.min(played, this.sent))
    return turn.utterances.map(({ from, id, to }) => ({
      id,
      played: turn.text.slice(from, Math.max(from, Math.min(to, heard))),
      ...(held ? { held } : {})
    }))
  }
}
