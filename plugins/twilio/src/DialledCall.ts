import type { CallLeg, DialFailed, DialProgress } from "@svc/providers/Telephony"
import { DialFailed as Failed } from "@svc/providers/Telephony"
import type { FinalStatus } from "./CallStatus.ts"
import { finalStatus, noStream } from "./CallStatus.ts"
import type { TwilioCall } from "./TwilioCall.ts"

/** How long the first status of a call may take when the answer to its request was lost, in milliseconds. */
const lostMs = 15_000
/** The same when Twilio has answered with an error of its server, which it hardly does after it has placed the call. */
const failedMs = 5000
/** How long Twilio may take to open the media stream of an answered call, in milliseconds. */
const streamMs = 8000

const outcomes: { readonly [status in FinalStatus]: DialFailed["outcome"] } = {
  busy: "busy",
  "no-answer": "no-answer",
  failed: "failed",
  canceled: "failed",
  completed: "failed"
}

/** The end of an attempt: the leg, or why there is none. */
export type Dialled = { readonly leg: CallLeg } | { readonly failed: DialFailed }

/** An outgoing call, until its media stream is there. */
export class DialledCall {
  #sid: string | undefined
  #isOver = false
  #hasRung = false
  #due: number | undefined
  #verdict: string | undefined
  #lostReason = "the answer of Twilio was lost, and no status of the call has come"
  readonly #options: {
    readonly now: () => number
    readonly progress: DialProgress
    readonly hangUp: (sid: string) => void
    readonly onDone: (dialled: Dialled | undefined) => void
  }

  /** `onDone`: called once; undefined: the engine has given up. */
  constructor(options: {
    readonly now: () => number
    readonly progress: DialProgress
    readonly hangUp: (sid: string) => void
    readonly onDone: (dialled: Dialled | undefined) => void
  }) {
    this.#options = options
  }

  /** Twilio has accepted the call. */
  placed(sid: string): void {
    this.#identify(sid)
    // The engine has given up meanwhile.
    if (this.#isOver) this.#options.hangUp(sid)
  }

  /**
   * Twilio has not placed the call, or does not say whether it has: `refused`: it has not; `lost`: no answer came; `unclear`:
   * the answer was an error of its server, or has no SID.
   */
  notPlaced(reason: string, code: string | undefined, outcome: "refused" | "lost" | "unclear"): void {
    if (outcome === "refused") this.#fail("failed", reason, code)
    else if (this.#sid === undefined) {
      if (outcome === "unclear") this.#lostReason += `: ${reason}`
      this.#due ??= this.#options.now() + (outcome === "lost" ? lostMs : failedMs)
    }
  }

  status(sid: string, status: string, code: string | undefined): void {
    if (this.#isOver) return
    this.#identify(sid)
    const end = finalStatus(status)
    if (end !== undefined) this.#fail(outcomes[end], `Twilio reports the call as ${end}`, code)
    else if (status === "in-progress") this.#due ??= this.#options.now() + streamMs
    else {
      this.#due = undefined
      if (status !== "ringing" || this.#hasRung) return
      this.#hasRung = true
      this.#options.progress.onRinging?.()
    }
  }

  /** Who answered, by Twilio's own detection. */
  answerer(answeredBy: string): void {
    this.#verdict = answeredBy
  }

  /** The media stream is there. */
  connected(call: TwilioCall): void {
    if (this.#isOver) {
      call.abandon("the call was given up")
      return
    }
    this.#identify(call.sid)
    this.#isOver = true
    if (this.#verdict !== undefined) call.answerer(this.#verdict)
    this.#options.onDone({ leg: call.leg })
  }

  /** The engine gives up. */
  giveUp(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#sid !== undefined) this.#options.hangUp(this.#sid)
    this.#options.onDone(undefined)
  }

  /** Called a few times a second. */
  check(): void {
    if (this.#isOver || this.#due === undefined || this.#options.now() < this.#due) return
    if (this.#sid !== undefined) this.#options.hangUp(this.#sid)
    this.#fail("failed", this.#sid === undefined ? this.#lostReason : noStream, undefined)
  }

  /** Twilio asks what to do after the media stream, which was not there. False: it is another call. */
  streamFailed(sid: string): boolean {
    if (sid !== this.#sid) return false
    this.#fail("failed", noStream, undefined)
    return true
  }

  /** The SID is known, by the answer of Twilio, a status or the media stream: whichever comes first. */
  #identify(sid: string): void {
    const isNew = this.#sid !== sid
    this.#sid = sid
    if (isNew && !this.#isOver) this.#options.progress.onPlaced?.(sid)
  }

  #fail(outcome: DialFailed["outcome"], reason: string, code: string | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.onDone({ failed: new Failed({ outcome, reason, ...(code === undefined ? {} : { code }) }) })
  }
}
