import type { Playout } from "@svc/audio/Playout"
import { PlayTimes } from "@svc/audio/PlayTimes"
import { frameMs } from "@svc/providers/Audio"
import type { PlaybackMarks as MarksKind } from "@svc/providers/Telephony"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"

/** The part of a leg that says what was played. */
export interface MarkedLeg {
  /** Read again and again, because the network may change it in a call. */
  readonly marks: () => MarksKind
  readonly mark: (name: string) => void
  /** How long audio waits in the network, for estimates. */
  readonly delayMs: number
}

/** A leg that confirms nothing, and plays what is sent at once. */
export const unmarkedLeg: MarkedLeg = { marks: () => "none", mark: () => {}, delayMs: 0 }

/** A mark within an utterance every 200 ms. */
const markEveryFrames = 10
/** The same before a pause of the synthesis: the end of what was written so far. */
const dryMarkFrames = 5
/** Audio that is not confirmed counts as played this long after it should have been, in milliseconds. */
export const confirmationLimitMs = 2000
/** Marks that can be pending. */
const kept = 64

/**
 * What the peer has played of the audio sent to it. Asks the leg for a mark at the beginning and the end of a turn, and
 * within it at the end of the first message after each 200 ms. Reports utterances as played: when the mark at their end was
 * confirmed, or {@link confirmationLimitMs} after the time at which they should have been played; on a leg without marks at
 * that time. A leg that let a mark become overdue is taken for one without marks until it confirms one again. Positions are
 * those of the {@link Playout}.
 *
 * What a leg says is bounded by what it can have played. Ignored are unknown, repeated and outdated marks, and
 * `cleared`: after `cut` nothing is pending, and before it nothing was to be cleared.
 *
 * Time also runs while the network carries no audio: what was sent before was played, or never will be.
 */
export class PlaybackMarks implements FrameSource {
  readonly #leg: MarkedLeg
  readonly #wheel: FrameWheel
  readonly #now: () => number
  readonly #playout: Playout
  readonly #times = new PlayTimes()
  #kind: MarksKind
  /** Position of the highest mark that was confirmed as played. */
  #confirmed = 0
  /** When it was confirmed. */
  #confirmedAt = 0
  /** How much later than it could have been the last mark was confirmed; undefined before the first. */
  #lag: number | undefined
  /** A mark is overdue, and none was confirmed since. */
  #isSilent = false
  /** Number of the next mark, and of the oldest that is pending. Marks are confirmed in order. */
  #next = 0
  #oldest = 0
  /** Position of each mark, and when the peer can have played the audio before it. */
  readonly #marked = new Float64Array(kept)
  readonly #due = new Float64Array(kept)
  #lastMarked = -1
  #framesSinceMark = markEveryFrames
  #sent = 0
  /** Marks before this number may have been delayed by a time without media: they do not tell the lag. */
  #delayed = 0
  #stopped = false

  constructor(options: {
    readonly leg: MarkedLeg
    readonly wheel: FrameWheel
    readonly now: () => number
    readonly playout: Playout
  }) {
    this.#leg = options.leg
    this.#wheel = options.wheel
    this.#now = options.now
    this.#playout = options.playout
    this.#kind = options.leg.marks()
  }

  /**
   * Frames of the playout buffer were sent, of which the first is played at `at` at the earliest and the last may be short.
   * Reports what they started, and what is played by now.
   */
  sent(frames: number, at: number): void {
    const before = this.#sent
    this.#sent = this.#playout.position
    const isFirst = at > this.#times.latest + 2 * frameMs
    let due = at
    for (let n = 1; n <= frames; n++) {
      const end = Math.min(before + n * this.#playout.frameBytes, this.#sent)
      due = this.#times.add(end, at + (n - 1) * frameMs)
    }
    this.#framesSinceMark += frames
    const isDry = this.#framesSinceMark >= dryMarkFrames && !this.#playout.pending
    if (isFirst || isDry || this.#framesSinceMark >= markEveryFrames || this.#playout.sentEndSince(before))
      this.#mark(due)
    this.#report()
  }

  /** The synthesis of an utterance ended after its last frame was sent. */
  utteranceEnded(): void {
    if (this.#lastMarked !== this.#sent) this.#mark(this.#times.latest)
    this.#report()
  }

  #mark(due: number): void {
    this.#framesSinceMark = 0
    this.#lastMarked = this.#sent
    this.#kind = this.#leg.marks()
    if (this.#kind === "none") return
    const number = this.#next++
    if (this.#next - this.#oldest > kept) this.#oldest++
    this.#marked[number % kept] = this.#sent
    this.#due[number % kept] = due
    // The leg may confirm it now.
    this.#leg.mark(`p${number}`)
  }

  /** The leg reported the outcome of a mark. */
  confirm(name: string, outcome: "played" | "cleared"): void {
    const number = Number(name.slice(1))
    const isPending = name === `p${number}` && number >= this.#oldest && number < this.#next
    if (this.#stopped || outcome !== "played" || !isPending) return
    // The marks before it were played too.
    this.#oldest = number + 1
    this.#confirmed = this.#marked[number % kept] ?? 0
    this.#confirmedAt = this.#now()
    this.#isSilent = false
    if (number >= this.#delayed) this.#lag = Math.max(0, this.#now() - (this.#due[number % kept] ?? 0))
    this.#report()
  }

  #report(): void {
    if (this.#stopped) return
    this.#playout.progress(this.#playout.awaitsPlayed ? this.#played() : 0)
    if (this.#playout.unconfirmed) this.#wheel.join(this, this.#now())
  }

  /** Called by the wheel while the end of an utterance was sent and not played. */
  tick(): boolean {
    if (this.#stopped || !this.#playout.unconfirmed) return false
    this.#kind = this.#leg.marks()
    this.#playout.progress(this.#played())
    return this.#playout.unconfirmed
  }

  /** How many milliseconds ago the audio before `position` had been played; 0 where the leg has not confirmed it. */
  since(position: number): number {
    const sent = this.#times.timeAt(position)
    const isConfirmed = position <= this.#confirmed
    if (this.#kind !== "none" && !isConfirmed) return 0
    // A mark says when the audio before it was played; this is so much before.
    const confirmed = this.#kind === "none" ? 0 : this.#confirmedAt - (this.#times.timeAt(this.#confirmed) - sent)
    const delay = this.#kind === "exact" ? 0 : this.#leg.delayMs
    return Math.max(0, this.#now() - Math.max(sent + delay, confirmed))
  }

  /** The position until which audio counts as played for good. */
  #played(): number {
    const now = this.#now()
    const { delayMs } = this.#leg
    if (this.#kind === "none" || this.#isOverdue(now)) return this.#times.positionAt(now - delayMs)
    // An echoed mark says that the audio has left the network's buffer: it still has its way to the caller.
    const since = this.#kind === "echoed" ? delayMs : 0
    return Math.max(
      Math.min(this.#confirmed, this.#times.positionAt(now - since)),
      this.#times.positionAt(now - delayMs - confirmationLimitMs)
    )
  }

  /** Whether the leg has let a mark become overdue, and has confirmed none since. */
  #isOverdue(now: number): boolean {
    if (this.#oldest < this.#next) {
      const due = this.#due[this.#oldest % kept] ?? 0
      this.#isSilent ||= now > due + this.#leg.delayMs + confirmationLimitMs
    }
    return this.#isSilent
  }

  /**
   * Sending stops, and the peer drops what it has not played: the position until which it has played. Between two marks
   * it is estimated with the delay of the last mark, and is not after a mark that is pending, unless that is overdue.
   */
  cut(): number {
    const position = Math.max(this.#played(), this.#kind === "none" ? 0 : this.#estimate())
    this.#oldest = this.#next
    this.#framesSinceMark = markEveryFrames
    this.#times.clear()
    return position
  }

  #estimate(): number {
    const now = this.#now()
    const { delayMs } = this.#leg
    const least = this.#kind === "echoed" ? delayMs : 0
    const estimate = this.#times.positionAt(now - Math.max(this.#lag ?? delayMs, least))
    if (this.#oldest === this.#next || this.#isOverdue(now)) return estimate
    return Math.min(estimate, this.#marked[this.#oldest % kept] ?? 0)
  }

  /** The network carries audio again, after a time without. */
  resumed(): void {
    this.#delayed = this.#next
  }

  /** Nothing is reported after this. */
  stop(): void {
    this.#stopped = true
  }
}
