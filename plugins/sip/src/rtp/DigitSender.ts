import { eventDigits } from "./TelephoneEvent.ts"

/** Milliseconds of a digit and of the pause after it, which every receiver accepts (ITU-T Q.24 asks for 40 each). */
const digitMs = 100
const pauseMs = 100
/** A `w`. */
const waitMs = 500
/** Time between the packets of an event. */
const packetMs = 20
/** How often the end of an event is sent (RFC 4733, 2.5.1.4). */
const endPackets = 3
/** Digits that may wait. */
const mostWaiting = 256

/**
 * Sends a packet of an event: `duration` in ms until now. `isFirst` begins it, `isEnd` ends it; packets after the first
 * end repeat it.
 */
export type SendEvent = (event: number, duration: number, isFirst: boolean, isEnd: boolean) => void

/** Turns digits into the packets of telephone events, at the times at which it is ticked. Times are milliseconds. */
export class DigitSender {
  readonly #send: SendEvent
  #waiting = ""
  #event = -1
  /** When the event, or the pause in its place, began. */
  #startedAt = 0
  #packets = 0
  #ends = 0
  #pauseUntil = Number.NEGATIVE_INFINITY

  constructor(send: SendEvent) {
    this.#send = send
  }

  /** Sends digits after those that wait: `0`-`9`, `*`, `#`, `A`-`D`, `w` for half a second; others are left out. */
  push(digits: string, now: number): void {
    const known = digits.toUpperCase().replace(/[^0-9*#A-DW]/g, "")
    this.#waiting = (this.#waiting + known).slice(0, mostWaiting)
    this.tick(now)
  }

  /** Drops the digits that wait; one that is being sent ends. */
  clear(): void {
    this.#waiting = ""
  }

  /** A digit is being sent: audio is not (RFC 4733, 2.5.1.2 sends one or the other). */
  get isSending(): boolean {
    return this.#event >= 0
  }

  /** Digits are being sent, or wait: `tick` has to be called. */
  get isActive(): boolean {
    return this.#event >= 0 || this.#waiting !== ""
  }

  /** Sends what is due. */
  tick(now: number): void {
    if (this.#event >= 0) {
      this.#continue(now)
      return
    }
    while (this.#event < 0 && this.#waiting !== "" && now >= this.#pauseUntil) {
      const next = this.#waiting.charAt(0)
      this.#waiting = this.#waiting.slice(1)
      if (next === "W") this.#pauseUntil = now + waitMs
      else this.#begin(eventDigits.indexOf(next), now)
    }
  }

  #begin(event: number, now: number): void {
    this.#event = event
    this.#startedAt = now
    this.#packets = 1
    this.#ends = 0
    this.#send(event, packetMs, true, false)
  }

  #continue(now: number): void {
    const elapsed = now - this.#startedAt
    if (elapsed < this.#packets * packetMs) return
    this.#packets++
    const duration = Math.min(digitMs, (Math.floor(elapsed / packetMs) + 1) * packetMs)
    const isEnd = duration === digitMs
    if (isEnd) this.#ends++
    this.#send(this.#event, duration, false, isEnd)
    if (this.#ends < endPackets) return
    this.#pauseUntil = this.#startedAt + digitMs + pauseMs
    this.#event = -1
  }
}
