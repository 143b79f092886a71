import type { Peer } from "../transaction/Peer.ts"
import type { Locate } from "./AgentEffect.ts"

/** The largest request in bytes that goes over UDP when the path MTU is unknown (RFC 3261, 18.1.1). */
export const maxUdpBytes = 1300

/** How long a destination that refused TCP gets large requests over UDP directly, in ms. */
const refusedMs = 10 * 60_000

/** Requests and destinations that are remembered at most. */
const maxRemembered = 1000

const destinationOf = ({ address, port }: Peer): string => `${address} ${port}`

const remember = <T>(map: Map<string, T>, key: string, value: T): void => {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest)
}

/** Requests that were too large for UDP and went over TCP, and the destinations that refused TCP. Times are ms. */
export class LargeRequests {
  readonly #sent = new Map<string, { readonly located: Locate; readonly peer: Peer }>()
  readonly #refusedUntil = new Map<string, number>()

  /** Where a request of this size goes, that was to go to `peer`. */
  peerFor(bytes: number, peer: Peer, now: number): Peer {
    if (peer.transport !== "udp" || bytes <= maxUdpBytes) return peer
    return now < (this.#refusedUntil.get(destinationOf(peer)) ?? 0) ? peer : { ...peer, transport: "tcp" }
  }

  /** A request with this branch has gone to `peer` over TCP instead of UDP. */
  switched(branch: string, located: Locate, peer: Peer): void {
    remember(this.#sent, branch, { located, peer })
  }

  /** A response has come. */
  answered(branch: string): void {
    this.#sent.delete(branch)
  }

  /** TCP was refused. Returns the request and its destination over UDP; undefined: this branch had not been switched. */
  refused(branch: string, now: number): { readonly located: Locate; readonly peer: Peer } | undefined {
    const sent = this.#sent.get(branch)
    if (sent === undefined) return undefined
    this.#sent.delete(branch)
    remember(this.#refusedUntil, destinationOf(sent.peer), now + refusedMs)
    return sent
  }
}
