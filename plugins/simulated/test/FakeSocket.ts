import type { RouteRequest, RouteSocket } from "@svc/providers/Route"
import type { ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"

/** A request to a route of the plugin. */
export const routeRequest: RouteRequest = {
  method: "GET",
  path: "",
  query: new URLSearchParams(),
  headers: {},
  body: new Uint8Array(),
  params: {},
  remoteAddress: "127.0.0.1"
}

/** A WebSocket in memory, from the side of the phone. */
export class FakeSocket implements RouteSocket {
  readonly received: Array<ServerMessage> = []
  buffered = 0
  closedWith: number | undefined
  #message: (data: string | Uint8Array) => void = () => {}
  #close: (code: number) => void = () => {}

  readonly send = (data: string | Uint8Array): void => {
    if (this.closedWith === undefined) this.received.push(JSON.parse(data.toString()))
  }
  readonly bufferedBytes = (): number => this.buffered
  readonly close = (code = 1000): void => this.#end(code)
  readonly onMessage = (handler: (data: string | Uint8Array) => void): void => {
    this.#message = handler
  }
  readonly onClose = (handler: (code: number) => void): void => {
    this.#close = handler
  }

  /** The phone sends a message. */
  sends(message: ClientMessage): void {
    this.#message(JSON.stringify(message))
  }

  /** The phone sends raw data. */
  sendsRaw(data: string | Uint8Array): void {
    this.#message(data)
  }

  /** The phone disconnects without a hangup. */
  disconnects(): void {
    this.#end(1006)
  }

  /** Returns and removes the messages received so far. */
  take(): ReadonlyArray<ServerMessage> {
    return this.received.splice(0)
  }

  #end(code: number): void {
    if (this.closedWith !== undefined) return
    this.closedWith = code
    this.#close(code)
  }
}
