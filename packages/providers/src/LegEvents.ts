import type { CallEvent } from "./Telephony.ts"

/** Audio is dropped once this many events wait for a listener: 12 s in frames of 20 ms. */
const maxWaiting = 600

/** The events of a leg, for `CallLeg.listen`: those from before the listener wait for it, nothing follows `Ended`. */
export class LegEvents {
  #listener: ((event: CallEvent) => void) | undefined
  #waiting: Array<CallEvent> = []
  #isOver = false

  /** Whether `Ended` was emitted, or `close` called. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The bytes of audio may be reused when it has returned. */
  readonly emit = (event: CallEvent): void => {
    if (this.#isOver) return
    if (event._tag === "Ended") this.#isOver = true
    if (this.#listener !== undefined) {
      this.#listener(event)
      return
    }
    if (this.#waiting.length >= maxWaiting && event._tag === "Audio") return
    this.#waiting.push(event._tag === "Audio" ? { ...event, payload: new Uint8Array(event.payload) } : event)
  }

  readonly listen = (listener: (event: CallEvent) => void): void => {
    this.#listener = listener
    for (const event of this.#waiting.splice(0)) listener(event)
  }

  /** Nothing is emitted any more. */
  close(): void {
    this.#isOver = true
  }
}
