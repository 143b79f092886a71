import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { MediaClock, TickListener } from "./NetworkClock.ts"

const frameMs = 20
/** The engine sends at most this many milliseconds of audio at once, after a stall. What sends more is not paced. */
const burstMs = 120

/**
 * Tells a phone what it has heard, when it plays it: of frames that come at once it plays one after the other. So a phone that
 * hangs up at the end of a sentence has heard the sentence.
 */
export class HeardText implements TickListener {
  readonly #clock: MediaClock
  readonly #send: (message: ServerMessage) => void
  /** When the phone plays the last frame. */
  #playing = Number.NEGATIVE_INFINITY
  /** What the phone has not played yet, and when it will have. */
  #waiting: Array<{ readonly at: number; readonly message: ServerMessage }> = []

  constructor(clock: MediaClock, send: (message: ServerMessage) => void) {
    this.#clock = clock
    this.#send = send
  }

  /** A frame came. What it says is reported next. */
  frame(): void {
    this.#playing = Math.max(this.#clock.now(), this.#playing + frameMs)
  }

  report(text: string, final: boolean): void {
    const message: ServerMessage = { event: "heard", text, final }
    const early = this.#playing - this.#clock.now()
    if (early > burstMs) this.flush()
    if (early > burstMs || (early <= frameMs && this.#waiting.length === 0)) this.#send(message)
    else {
      this.#waiting.push({ at: this.#playing, message })
      this.#clock.start(this)
    }
  }

  /** Reports at once what waits: what was sent counts as heard. */
  flush(): void {
    this.#clock.stop(this)
    for (const { message } of this.#waiting.splice(0)) this.#send(message)
  }

  /** Nothing of what was sent is played any more. */
  cut(): void {
    this.flush()
    this.#playing = Number.NEGATIVE_INFINITY
  }

  tick(): boolean {
    const now = this.#clock.now()
    for (let next = this.#waiting[0]; next !== undefined && next.at <= now; next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#send(next.message)
    }
    return this.#waiting.length > 0
  }
}
