/**
 * When audio arrives, against when it should: from the packets with the least delay, which also follow a sender whose
 * clock is faster or slower than ours. Times are milliseconds, positions samples.
 */

/** For how long a missing packet is waited for: at least, and at most. */
export const leastWait = 60
export const mostWait = 400
/** What is waited for longer than the recent packets were late. */
const reserve = 20
/** By how much less late each packet makes the lateness that is expected: half after 28 s. */
const forget = 0.9995
/** Packets after which a delay that all of them had is taken for the sender's clock: 2 s. */
const window = 100
/** A packet that is this far from its time is of another time line. */
const furthest = 1000
const mostUnread = 10_000

export class Arrivals {
  readonly #samplesPerMs: number
  /** When position 0 was spoken, so that what was spoken until a position has arrived then. */
  #origin = 0
  #leastLate = Number.POSITIVE_INFINITY
  #counted = 0
  /** How late recent packets were, at most. */
  #peak = 0
  /** By how much packets may be early, because this process had not read them. */
  #unread = 0
  #transit = Number.NaN
  /** Interarrival jitter in ms (RFC 3550, 6.4.1). */
  jitter = 0

  constructor(sampleRate: number) {
    this.#samplesPerMs = sampleRate / 1000
  }

  /** The audio before `end` arrives at `now`, and on time. */
  restart(end: number, now: number): void {
    this.#origin = now - end / this.#samplesPerMs
    this.#leastLate = Number.POSITIVE_INFINITY
    this.#counted = 0
    this.#transit = Number.NaN
  }

  /** The audio before `end` arrives at `now`; `isOld`: out of order. */
  add(end: number, now: number, isOld: boolean): void {
    const late = now - this.timeOf(end)
    if (Math.abs(late) > furthest) {
      if (!isOld) this.restart(end, now)
      return
    }
    const transit = now - end / this.#samplesPerMs
    if (!Number.isNaN(this.#transit)) this.jitter += (Math.abs(transit - this.#transit) - this.jitter) / 16
    this.#transit = transit
    if (late < 0) {
      // Until now all packets were late.
      const read = Math.min(this.#unread, -late)
      this.#unread -= read
      this.#origin += late
      this.#peak = Math.min(mostWait, this.#peak - late - read)
      this.#leastLate = 0
    } else {
      this.#peak = Math.max(this.#peak * forget, Math.min(mostWait, late))
      this.#leastLate = Math.min(this.#leastLate, late)
    }
    if (++this.#counted < window) return
    this.#origin += this.#leastLate
    this.#peak = Math.max(0, this.#peak - this.#leastLate)
    this.#leastLate = Number.POSITIVE_INFINITY
    this.#counted = 0
  }

  /** This process read nothing for `ms`, which the clock does not count: what is read next may be early by that. */
  paused(ms: number): void {
    this.#unread = Math.min(mostUnread, this.#unread + ms)
    // The time between two packets is not known.
    this.#transit = Number.NaN
  }

  /** When what was spoken before a position has arrived, with the least delay. */
  timeOf(position: number): number {
    return this.#origin + position / this.#samplesPerMs
  }

  /** The position before which audio has arrived at `now`, with the least delay. */
  positionAt(now: number): number {
    return Math.floor((now - this.#origin) * this.#samplesPerMs)
  }

  /** For how long a missing packet is waited for. */
  get wait(): number {
    return Math.min(mostWait, Math.max(leastWait, this.#peak + reserve))
  }
}
