import type { MediaAddress } from "./MediaAddress.ts"

/** The peer has moved when nothing came from it for this time, in ms. */
const silenceMs = 2000

/** How much speaks for an address: it was negotiated, it is on a known host, or nothing. */
const negotiatedRank = 2
const knownHostRank = 1
const foreignRank = 0

interface Candidate {
  readonly address: string
  readonly port: number
  readonly ssrc: number
  readonly next: number
}

/**
 * Where the peer's media comes from, and so where ours goes to (symmetric RTP, RFC 4961). A peer behind a NAT sends from
 * another address than it has signalled; but whoever knows our port could pretend to be such a peer. So:
 *
 * | packet from                                   | before the first packet | peer heard in the last 2 s | peer silent for 2 s      |
 * |-----------------------------------------------|-------------------------|----------------------------|--------------------------|
 * | the current address                           | accepted                | accepted                   | accepted                 |
 * | the negotiated address                        | accepted                | accepted, becomes current  | accepted, becomes current |
 * | a known host: negotiated, or of the signaling | becomes current         | only instead of a foreign  | becomes current          |
 * | a foreign address                             | becomes current         | refused                    | only with the same SSRC  |
 *
 * An address becomes current with its second packet in order; the one before it is refused, as in RFC 3550, A.1. Only what
 * has passed all other checks is asked for here: payload type and, where negotiated, authentication.
 */
export class PeerLatch {
  #negotiated: MediaAddress
  #hosts: ReadonlySet<string>
  #current: MediaAddress
  #rank = negotiatedRank
  #isHeard = false
  #heardAt = 0
  #ssrc = 0
  /** Where the peer was until the last negotiation, and until when its late packets are refused. */
  #former: (MediaAddress & { readonly until: number }) | undefined
  /** Addresses that may become current, by rank, so that a flood of one rank does not hinder those of a higher one. */
  readonly #candidates: Array<Candidate | undefined> = []

  /** `hosts`: IP addresses that belong to the peer too, such as that of its signaling. */
  constructor(negotiated: MediaAddress, hosts: ReadonlyArray<string> = []) {
    this.#negotiated = negotiated
    this.#current = negotiated
    this.#hosts = new Set([negotiated.address, ...hosts])
  }

  /** Where our media goes to. */
  get current(): MediaAddress {
    return this.#current
  }

  /** When the peer was last heard; undefined: not yet. */
  get heardAt(): number | undefined {
    return this.#isHeard ? this.#heardAt : undefined
  }

  /**
   * The addresses are negotiated again. With the same one as before, what was learned stays. With another port of the host,
   * packets that are still under way from the one before do not count for 2 s.
   */
  negotiate(negotiated: MediaAddress, hosts: ReadonlyArray<string> = [], now = Number.NEGATIVE_INFINITY): void {
    this.#hosts = new Set([negotiated.address, ...hosts])
    if (negotiated.address === this.#negotiated.address && negotiated.port === this.#negotiated.port) return
    this.#former =
      this.#current.address === negotiated.address ? { ...this.#current, until: now + silenceMs } : undefined
    this.#negotiated = negotiated
    this.#current = negotiated
    this.#rank = negotiatedRank
    this.#isHeard = false
    this.#candidates.length = 0
  }

  /** Whether a valid packet that came at `now` is of the peer. */
  accepts(address: string, port: number, ssrc: number, sequence: number, now: number): boolean {
    if (port === this.#current.port && address === this.#current.address) return this.#hear(ssrc, now)
    if (port === this.#negotiated.port && address === this.#negotiated.address) {
      this.#move(address, port, negotiatedRank)
      return this.#hear(ssrc, now)
    }
    const former = this.#former
    if (former !== undefined && now < former.until && port === former.port && address === former.address) return false
    const rank = this.#hosts.has(address) ? knownHostRank : foreignRank
    if (!this.#mayMove(rank, ssrc, now)) return false
    const candidate = this.#candidates[rank]
    if (
      candidate?.ssrc === ssrc &&
      candidate.address === address &&
      candidate.port === port &&
      candidate.next === sequence
    ) {
      this.#move(address, port, rank)
      return this.#hear(ssrc, now)
    }
    this.#candidates[rank] = { address, port, ssrc, next: (sequence + 1) & 0xffff }
    return false
  }

  /** Whether a host may send RTCP: that of the peer's media, or a known one. */
  knows(address: string): boolean {
    return address === this.#current.address || this.#hosts.has(address)
  }

  #mayMove(rank: number, ssrc: number, now: number): boolean {
    if (!this.#isHeard || rank > this.#rank) return true
    if (now - this.#heardAt < silenceMs) return false
    return rank > foreignRank || ssrc === this.#ssrc
  }

  #move(address: string, port: number, rank: number): void {
    this.#current = { address, port }
    this.#rank = rank
    this.#candidates.length = 0
  }

  #hear(ssrc: number, now: number): true {
    this.#isHeard = true
    this.#heardAt = now
    this.#ssrc = ssrc
    return true
  }
}
