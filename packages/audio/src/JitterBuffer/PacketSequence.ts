/**
 * Which packets came, by their sequence numbers of 16 bits (RFC 3550, A.1 and A.3): new, out of order, twice, or the
 * beginning of another stream, as after a transfer or a reconnection.
 */

/** A packet of a known stream may be this far ahead of the newest one, or behind it. */
const furthestAhead = 3000
const furthestBehind = 100
/** Packets in order behind the newest one, without a new one between them, that show another stream. */
const oldInOrder = 8
/** Sequence numbers that are remembered, to find packets that come twice. */
const remembered = 512

/**
 * `new`: newer than all before. `old`: out of order. `restart`: the first of another stream. `duplicate` and `stray`, a packet
 * that fits no stream, are to be dropped.
 */
export type Arrival = "new" | "old" | "restart" | "duplicate" | "stray"

export class PacketSequence {
  /** Sequence numbers that do not wrap; of the first, the newest and the packet added last. */
  #first = -1
  #newest = -1
  #added = -1
  #received = 0
  /** Lost in streams that ended. */
  #lostBefore = 0
  /** The sequence number that would confirm another stream. */
  #confirming = -1
  #inOrder = 0
  readonly #seen = new Float64Array(remembered).fill(-1)

  /** How many packets the one added last is ahead of the newest before it; negative: behind it. */
  ahead = 0

  add(sequence: number): Arrival {
    const number = sequence & 0xffff
    if (this.#newest < 0) return this.#begin(number)
    const ahead = ((number - this.#newest) << 16) >> 16
    this.ahead = ahead
    if (ahead > furthestAhead || ahead < -furthestBehind) {
      if (number === this.#confirming) return this.#begin(number)
      this.#confirming = (number + 1) & 0xffff
      return "stray"
    }
    this.#confirming = -1
    const extended = this.#newest + ahead
    this.#inOrder = ahead <= 0 && extended === this.#added + 1 ? this.#inOrder + 1 : 0
    this.#added = extended
    if (this.#inOrder >= oldInOrder) return this.#begin(number)
    // Before the first packet that came.
    if (extended < this.#first) this.#first = extended
    const at = extended % remembered
    if (this.#seen[at] === extended) return "duplicate"
    this.#seen[at] = extended
    this.#received++
    if (ahead <= 0) return "old"
    this.#newest = extended
    return "new"
  }

  #begin(number: number): "restart" {
    this.#lostBefore = this.lost
    this.#confirming = -1
    this.#inOrder = 0
    this.#received = 1
    this.#seen.fill(-1)
    // Far from 0, so that no earlier packet is below it.
    this.#first = this.#newest = this.#added = 65_536 + number
    this.#seen[this.#newest % remembered] = this.#newest
    this.ahead = 1
    return "restart"
  }

  /** Packets that never came, of all streams. */
  get lost(): number {
    if (this.#newest < 0) return 0
    return this.#lostBefore + Math.max(0, this.#newest - this.#first + 1 - this.#received)
  }
}
