/** RFC 3550, A.1: a packet may be this far ahead of the newest one, or behind it. */
const furthestAhead = 3000
const furthestBehind = 100
/** A packet whose audio is older than the newest by this, in ms, comes too late for the shortest playout delay. */
const lateMs = 60

/** What the network did to one stream (one SSRC), for RTCP and for the figures of the call (RFC 3550, A.1, A.3 and A.8). */
export class ReceptionStatistics {
  readonly #unitsPerMs: number
  #first = 0
  #cycles = 0
  #newest = 0
  /** The sequence number that would confirm that the stream begins anew; above 16 bits: none. */
  #confirming = 0x1_0001
  #received = 0
  #expectedBefore = 0
  #receivedBefore = 0
  /** Lost before the stream began anew. */
  #lostBefore = 0
  #timestamp = 0
  #transit = Number.NaN
  #jitter = 0
  /** Packets that came too late to be played. */
  late = 0

  /** `clockRate`: units of the timestamp per second. */
  constructor(clockRate: number) {
    this.#unitsPerMs = clockRate / 1000
  }

  /** Counts a packet that arrives at `now`, in ms. False: it fits no stream, and is to be dropped. */
  add(sequence: number, timestamp: number, now: number): boolean {
    if (!this.addUntimed(sequence)) return false
    const isFirst = Number.isNaN(this.#transit)
    const older = isFirst ? 0 : (this.#timestamp - timestamp) | 0
    if (older > lateMs * this.#unitsPerMs) this.late++
    if (older <= 0) this.#timestamp = timestamp
    // 32 bits of it, because the timestamp wraps.
    const transit = (Math.round(now * this.#unitsPerMs) - timestamp) | 0
    if (!isFirst) this.#jitter += (Math.abs((transit - this.#transit) | 0) - this.#jitter) / 16
    this.#transit = transit
    return true
  }

  /** Counts a packet whose timestamp does not follow the time, such as those of a telephone event. */
  addUntimed(sequence: number): boolean {
    if (this.#received === 0) this.#begin(sequence)
    const ahead = (sequence - this.#newest) & 0xffff
    if (ahead < furthestAhead) {
      if (sequence < this.#newest) this.#cycles += 0x1_0000
      this.#newest = sequence
    } else if (ahead <= 0x1_0000 - furthestBehind) {
      if (sequence !== this.#confirming) {
        this.#confirming = (sequence + 1) & 0xffff
        return false
      }
      // Two in order: the sender has begun anew.
      this.#lostBefore = this.lost
      this.#begin(sequence)
    }
    this.#received++
    return true
  }

  /** Packets that were lost, without those that came twice: never negative, other than RTCP's figure. */
  get lost(): number {
    return this.#lostBefore + Math.max(0, this.#lost)
  }

  /** Packets that came, also those that came twice. */
  get received(): number {
    return this.#received
  }

  /** The cumulative number of packets lost as RTCP has it: 24 bits with sign. */
  get cumulativeLost(): number {
    return Math.max(-0x80_0000, Math.min(0x7f_ffff, this.#lostBefore + this.#lost))
  }

  /** The extended highest sequence number: 32 bits. */
  get highestSequence(): number {
    return (this.#cycles + this.#newest) >>> 0
  }

  /** Interarrival jitter in units of the timestamp. */
  get jitter(): number {
    return Math.round(this.#jitter)
  }

  /** Interarrival jitter in ms; null: it is not known. */
  get jitterMs(): number | null {
    return this.#received < 2 || Number.isNaN(this.#transit) ? null : this.#jitter / this.#unitsPerMs
  }

  /** The share of packets lost since the last call, in 256ths, for a report. */
  takeFractionLost(): number {
    const expected = this.#expected - this.#expectedBefore
    const lost = expected - (this.#received - this.#receivedBefore)
    this.#expectedBefore = this.#expected
    this.#receivedBefore = this.#received
    return expected <= 0 || lost <= 0 ? 0 : Math.min(255, Math.floor((lost * 256) / expected))
  }

  get #expected(): number {
    return this.#received === 0 ? 0 : this.#cycles + this.#newest - this.#first + 1
  }

  get #lost(): number {
    return this.#expected - this.#received
  }

  #begin(sequence: number): void {
    this.#first = sequence
    this.#newest = sequence
    this.#cycles = 0
    this.#confirming = 0x1_0001
    this.#received = 0
    this.#expectedBefore = 0
    this.#receivedBefore = 0
    this.#transit = Number.NaN
  }
}
