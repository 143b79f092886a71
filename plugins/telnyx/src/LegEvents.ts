import type { CallEvent } from "@svc/providers/Telephony"

/** Events that wait for a listener at most; 10 s of audio. */
const maxWaiting = 600

/** The events of a leg: those from before the listener wait for it, nothing follows `Ended`. */
export class LegEvents {
  #listener: ((event: CallEvent) => void) | undefined
  #waiting: Array<CallEvent> = []
  #isOver = false

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
