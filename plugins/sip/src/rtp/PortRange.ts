import { Data } from "effect"

/** No pair of ports is free. */
export class PortsExhausted extends Data.TaggedError("PortsExhausted")<{
  readonly first: number
  readonly last: number
}> {
  override get message(): string {
    return `all RTP ports from ${this.first} to ${this.last} are in use; widen SVC_SIP_RTP_PORTS, two ports for each call`
  }
}

/** For how long a port is not used again, in ms: packets of the former call may still come. */
const restMs = 5000

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
    if (port === undefined) return new PortsExhausted({ first: this.first, last: this.last })
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
