import { randomBytes } from "node:crypto"
import type { RouteRequest, RouteSocket } from "@svc/providers/Route"

/**
 * The media connections that Telnyx is to open for calls that we answered or placed. Each is accepted once, by the token in
 * its address. Any other one is closed with 1008 (RFC 6455, 7.4.1), and nothing is sent to it before.
 */
export class MediaStreams {
  readonly #expected = new Map<string, (socket: RouteSocket) => void>()
  readonly #url: string

  /** `baseUrl`: the public address of the server. */
  constructor(baseUrl: string) {
    this.#url = `${baseUrl.replace(/^http/, "ws")}/telephony/telnyx/media`
  }

  /** The address of a connection, which `connected` gets when it is opened, and its token. */
  expect(connected: (socket: RouteSocket) => void): { readonly url: string; readonly token: string } {
    const token = randomBytes(24).toString("base64url")
    this.#expected.set(token, connected)
    return { url: `${this.#url}?token=${token}`, token }
  }

  /** The connection is no longer expected. */
  forget(token: string): void {
    this.#expected.delete(token)
  }

  readonly accept = (socket: RouteSocket, { query }: RouteRequest): void => {
    const token = query.get("token") ?? ""
    const connected = this.#expected.get(token)
    if (connected === undefined) {
      socket.close(1008, "no call is expected on this connection")
      return
    }
    this.#expected.delete(token)
    connected(socket)
  }
}
