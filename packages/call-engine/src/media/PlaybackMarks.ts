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
/** Audio that is not confirmed counts as played this long after it should have been, in milliseconds of media. */
export const confirmationLimitMs = 2000
/** Marks that can be pending. */
const kept = 64

/**
 * What the peer has played of the audio sent to it. Asks the leg for a mark at the beginning and the end of an utterance
 * and every 200 ms within it, and reports utterances as played: when the mark at their end was confirmed, or
 * {@link confirmationLimitMs} after the time at which they should have been played; on a leg without marks at that
 * time. Positions are those of the {@link Playout}.
 *
 * What a leg says is bounded by what it can have played. Ignored are unknown, repeated and outdated marks, and
 * `cleared`: after `cut` nothing is pending, and before it nothing was to be cleared.
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
  /** How much later than it could have been the last mark was confirmed; undefined before the first. */
  #lag: number | undefined
  /** Number of the next mark, and of the oldest that is pending. Marks are confirmed in order. */
  #next = 0
  #oldest = 0
  /** Position of each mark, and when the peer can have played the audio before it. */
  readonly #marked = new Float64Array(kept)
  readonly #due = new Float64Array(kept)
  #lastMarked = -1
  #framesSinceMark = markEveryFrames
  #sent = 0
  /** Milliseconds without media so far, and since when there is none. */
  #offMs = 0
  #offSince: number | undefined
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

  /** A frame of the playout buffer was sent. Reports what it started, and what is played by now. */
  frameSent(): void {
    const now = this.#clock()
    const before = this.#sent
    this.#sent = this.#playout.position
    const isFirst = now > this.#times.latest + 2 * frameMs
    const due = this.#times.add(this.#sent, now)
    this.#framesSinceMark++
    if (isFirst || this.#framesSinceMark >= markEveryFrames || this.#playout.sentEndSince(before)) this.#mark(due)
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
    this.#lag = Math.max(0, this.#clock() - (this.#due[number % kept] ?? 0))
    this.#report()
  }

  #report(): void {
    if (this.#stopped) return
    this.#playout.progress(this.#playout.unconfirmed ? this.#played() : 0)
    if (this.#playout.unconfirmed && this.#offSince === undefined) this.#wheel.join(this, this.#now())
  }

  /** Called by the wheel while the end of an utterance was sent and not played. */
  tick(): boolean {
    if (this.#stopped || this.#offSince !== undefined || !this.#playout.unconfirmed) return false
    this.#kind = this.#leg.marks()
    this.#playout.progress(this.#played())
    return this.#playout.unconfirmed
  }

  /** The position until which audio counts as played for good. */
  #played(): number {
    const now = this.#clock()
    const patience = this.#kind === "none" ? 0 : confirmationLimitMs
    return Math.max(
      Math.min(this.#confirmed, this.#times.positionAt(now)),
      this.#times.positionAt(now - this.#leg.delayMs - patience)
    )
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
    const now = this.#clock()
    const { delayMs } = this.#leg
    const estimate = this.#times.positionAt(now - (this.#lag ?? delayMs))
    if (this.#oldest === this.#next) return estimate
    const pending = this.#oldest % kept
    const isOverdue = now > (this.#due[pending] ?? 0) + delayMs + confirmationLimitMs
    return isOverdue ? estimate : Math.min(estimate, this.#marked[pending] ?? 0)
  }

  /** The network carries no audio for now, or carries it again. Meanwhile the times of estimates stand still. */
  suspend(on: boolean): void {
    if (on === (this.#offSince !== undefined)) return
    const now = this.#now()
    if (this.#offSince === undefined) {
      this.#offSince = now
      return
    }
    this.#offMs += now - this.#offSince
    this.#offSince = undefined
    this.#report()
  }

  /** Nothing is reported after this. */
  stop(): void {
    this.#stopped = true
  }

  /** Milliseconds of media. */
  #clock(): number {
    return (this.#offSince ?? this.#now()) - this.#offMs
  }
}
