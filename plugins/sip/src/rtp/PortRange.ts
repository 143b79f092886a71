import { Data } from "effect"

/**
 * For how long a port is not used again, in ms, also when no other is free: a former peer that still sends could be taken
 * for one behind NAT, and get the audio of the next call.
 */
const restMs = 5000

/** No pair of ports is free. */
export class PortsExhausted extends Data.TaggedError("PortsExhausted")<{
  readonly first: number
  readonly last: number
  /** Pairs that no call has, but that were in use less than 5 s ago. */
  readonly resting?: number
}> {
  override get message(): string {
    const { first, last, resting = 0 } = this
    const rest = resting === 0 ? "" : ` or were until less than ${restMs / 1000} s ago`
    return `all RTP ports from ${first} to ${last} are in use${rest}; widen SVC_SIP_RTP_PORTS, two ports for each call`
  }
}

/**
 * The pairs of ports for media: RTP has the even port, RTCP the odd one above it (RFC 3550, 11). The pair that was free for
 * the longest time comes first. Times are milliseconds.
 */
export class PortRange {
  readonly first: number
  readonly last: number
  /** Even ports that were never used, in descending order. */
  readonly #fresh: Array<number> = []
  /** Even ports and when they became free, the oldest first. */
  readonly #rested = new Map<number, number>()
  readonly #used = new Set<number>()

  /** `first` and `last` belong to the range; a port without its pair is not used. */
  constructor(first: number, last: number) {
    this.first = first
    this.last = last
    const lowest = first + (first % 2)
    for (let port = lowest; port < last; port += 2) this.#fresh.unshift(port)
  }

  /** Pairs in all. */
  get pairs(): number {
    return this.#fresh.length + this.#rested.size + this.#used.size
  }

  /** The even port of a pair, or the error that none is free. */
  take(now: number): number | PortsExhausted {
    const port = this.#fresh.pop() ?? this.#oldest(now)
    if (port === undefined) {
      return new PortsExhausted({ first: this.first, last: this.last, resting: this.#rested.size })
    }
    this.#rested.delete(port)
    this.#used.add(port)
    return port
  }

  /** The pair is free again after some seconds. A second time does nothing. */
  release(port: number, now: number): void {
    if (this.#used.delete(port)) this.#rested.set(port, now)
  }

  #oldest(now: number): number | undefined {
    for (const [port, at] of this.#rested) return now - at >= restMs ? port : undefined
    return undefined
  }
}
