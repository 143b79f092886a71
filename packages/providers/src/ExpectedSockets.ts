import { randomBytes } from "node:crypto"
import { InFlightSet } from "./InFlightSet.ts"
import type { RouteSocket } from "./Route.ts"
import type { SharedTimeout } from "./SharedTimeout.ts"

/** What a message of a socket that is not yet known says: the token; `wait`: not yet; `refuse`: it is none of the protocol. */
export type TokenMessage = { readonly token: string } | "wait" | "refuse"

/** Messages before the one with the token, and characters of one. */
const mostMessages = 4
const longestMessage = 16_384
/** Sockets that have not named a token at once. */
const mostUnknown = 1000

/** How long a socket may take to name its token, in milliseconds. */
export const tokenMs = 5000

/**
 * The media sockets that a carrier is to open for calls that were answered. Each is accepted once, by the token that was
 * given to the carrier for it. Any other socket is closed with 1008 (RFC 6455, 7.4.1), and nothing is sent to it before.
 */
export class ExpectedSockets {
  readonly #expected = new Map<string, (socket: RouteSocket, message: string) => void>()
  readonly #unknown = new InFlightSet<RouteSocket>()
  readonly #timeout: SharedTimeout
  readonly #tokenOf: (message: string) => TokenMessage

  /** `timeout`: one of {@link tokenMs}. */
  constructor(options: {
    readonly timeout: SharedTimeout
    readonly tokenOf: (message: string) => TokenMessage
  }) {
    this.#timeout = options.timeout
    this.#tokenOf = options.tokenOf
  }

  /** How many sockets are expected. */
  get size(): number {
    return this.#expected.size
  }

  /** The token for a socket. `connected` gets it with the message that named the token; it installs its own handlers. */
  expect(connected: (socket: RouteSocket, message: string) => void): string {
    const token = randomBytes(24).toString("base64url")
    this.#expected.set(token, connected)
    return token
  }

  /** The socket is no longer expected. */
  forget(token: string): void {
    this.#expected.delete(token)
  }

  /** A socket was opened. */
  accept(socket: RouteSocket): void {
    if (this.#unknown.size >= mostUnknown) {
      socket.close(1013, "too many connections")
      return
    }
    const remove = this.#unknown.add(socket)
    const opened = this.#timeout.now()
    let messages = 0
    let isUnknown = true
    const decide = (): void => {
      isUnknown = false
      remove()
      stop()
    }
    const refuse = (): void => {
      decide()
      socket.close(1008, "no call is expected on this connection")
    }
    const stop = this.#timeout.watch(() => opened, refuse)
    socket.onClose(() => {
      if (isUnknown) decide()
    })
    socket.onMessage((data) => {
      if (!isUnknown) return
      if (typeof data !== "string" || data.length > longestMessage || ++messages > mostMessages) return refuse()
      const said = this.#tokenOf(data)
      if (said === "wait") return
      if (said === "refuse") return refuse()
      const connected = this.#expected.get(said.token)
      if (connected === undefined) return refuse()
      this.#expected.delete(said.token)
      decide()
      connected(socket, data)
    })
  }
}
