import { uint16 } from "./RtpPacket.ts"
import { eventBytes, eventDigits } from "./TelephoneEvent.ts"

/** The longest duration of one event packet; a longer event goes on in another segment (RFC 4733, 2.5.1.3). */
const mostDuration = 0xffff
/** Keys are released for at least this time, in units of the timestamp at 8 kHz: 40 ms (ITU-T Q.24). */
const leastPause = 320
/** A timestamp that is this far behind is that of another stream: 30 s. */
const furthestBehind = 240_000

/**
 * Digits in the packets of telephone events (RFC 4733), each once, when it begins: whichever of its packets come, in
 * whatever order, and however long the key is held.
 */
export class DigitReceiver {
  readonly #onDigit: (digit: string) => void
  #hasEvent = false
  #event = 0
  #timestamp = 0
  #duration = 0
  #hasEnded = false

  constructor(onDigit: (digit: string) => void) {
    this.#onDigit = onDigit
  }

  /** The sender has begun another stream: its timestamps start anew. */
  restart(): void {
    this.#hasEvent = false
  }

  /** Takes the payload `bytes[start..end]` of a packet; several events follow one another in it. */
  push(bytes: Uint8Array, start: number, end: number, timestamp: number, isMarked: boolean): void {
    let begins = timestamp
    for (let at = start; at + eventBytes <= end; at += eventBytes) {
      const duration = uint16(bytes, at + 2)
      this.#add(bytes[at] ?? 0, begins, duration, ((bytes[at + 1] ?? 0) & 0x80) !== 0, isMarked)
      begins = (begins + duration) >>> 0
    }
  }

  #add(event: number, timestamp: number, duration: number, isEnd: boolean, isMarked: boolean): void {
    const digit = eventDigits[event]
    // An event without a duration is a state, and no digit; the hook flash and other tones are none either.
    if (digit === undefined || duration === 0) return
    const ahead = this.#hasEvent ? (timestamp - this.#timestamp) | 0 : 1
    if (ahead <= 0 && ahead > -furthestBehind) {
      if (ahead < 0 || event !== this.#event) return
      this.#duration = Math.max(this.#duration, duration)
      this.#hasEnded ||= isEnd
      return
    }
    const isNew = !this.#isContinuation(event, ahead, isMarked)
    this.#hasEvent = true
    this.#event = event
    this.#timestamp = timestamp
    this.#duration = duration
    this.#hasEnded = isEnd
    if (isNew) this.#onDigit(digit)
  }

  /** The same key is still held: in the next segment, or with a sender that counts the timestamp up in an event. */
  #isContinuation(event: number, ahead: number, isMarked: boolean): boolean {
    if (!this.#hasEvent || event !== this.#event || this.#hasEnded || isMarked || ahead < 0) return false
    return ahead === mostDuration || ahead < this.#duration + leastPause
  }
}
