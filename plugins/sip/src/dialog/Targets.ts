import * as Message from "../message/Message.ts"
import type { Peer } from "../transaction/Peer.ts"
import type { Locate } from "./AgentEffect.ts"

/** How long a server that did not answer is tried last, in ms; doubles with each failure up to the limit. */
export const backOffMs = 30_000
const longestBackOffMs = 5 * 60_000

/** Requests and servers that are remembered at most. */
const maxRemembered = 10_000

const destinationOf = ({ address, port, transport }: Peer): string => `${transport} ${address} ${port}`

const remember = <T>(map: Map<string, T>, key: string, value: T): void => {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest)
}

/** A request in progress, and the servers that it may still go to. */
export interface Pending {
  readonly located: Locate
  readonly peer: Peer
  readonly others: ReadonlyArray<Peer>
}

/** The servers of requests that have several (RFC 3263, 4.3), and which servers are down. Times are ms. */
export class Targets {
  readonly #pending = new Map<string, Pending>()
  /** The server that answered last, by Call-ID: credentials for its challenge go to the same one. */
  readonly #answered = new Map<string, string>()
  readonly #down = new Map<string, { readonly until: number; readonly failures: number }>()

  /** First the server that answered a request with this Call-ID, then the others that are up, then those that are down. */
  inOrder(peers: ReadonlyArray<Peer>, callId: string, now: number): ReadonlyArray<Peer> {
    if (peers.length < 2) return peers
    const known = this.#answered.get(callId)
    const rank = (peer: Peer): number => {
      const destination = destinationOf(peer)
      if (now < (this.#down.get(destination)?.until ?? 0)) return 2
      return destination === known ? 0 : 1
    }
    return peers.toSorted((a, b) => rank(a) - rank(b))
  }

  /** A request with this branch was sent. */
  sent(branch: string, pending: Pending): void {
    remember(this.#pending, branch, pending)
  }

  /** What is known of the request with this branch, which is then forgotten. */
  take(branch: string): Pending | undefined {
    const pending = this.#pending.get(branch)
    this.#pending.delete(branch)
    return pending
  }

  /** The server has answered. */
  isUp({ located, peer }: Pending): void {
    this.#down.delete(destinationOf(peer))
    remember(this.#answered, Message.callId(located.request), destinationOf(peer))
  }

  /** The server did not answer, or asked for a pause of some seconds. */
  isDown(peer: Peer, now: number, seconds?: number): void {
    const failures = (this.#down.get(destinationOf(peer))?.failures ?? 0) + 1
    const pause = seconds === undefined ? backOffMs * 2 ** Math.min(failures - 1, 10) : seconds * 1000
    remember(this.#down, destinationOf(peer), { until: now + Math.min(pause, longestBackOffMs), failures })
  }
}
