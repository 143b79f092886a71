import type { RouteSocket } from "@svc/providers/Route"
import type { ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"

/** A phone's side of a WebSocket, without a network. */
export class FakeSocket implements RouteSocket {
  readonly received: Array<ServerMessage> = []
  buffered = 0
  closedWith: number | undefined
  #message: (data: string | Uint8Array) => void = () => {}
  #close: () => void = () => {}

  readonly send = (data: string | Uint8Array): void => {
    if (this.closedWith === undefined) this.received.push(JSON.parse(data.toString()))
  }
  readonly bufferedBytes = (): number => this.buffered
  readonly close = (code = 1000): void => this.#end(code)
  readonly onMessage = (handler: (data: string | Uint8Array) => void): void => {
    this.#message = handler
  }
  readonly onClose = (handler: () => void): void => {
    this.#close = handler
  }

  /** The phone sends. */
  says(message: ClientMessage): void {
    this.#message(JSON.stringify(message))
  }

  /** The phone sends just this. */
  saysRaw(data: string | Uint8Array): void {
    this.#message(data)
  }

  /** The phone is gone. */
  drops(): void {
    this.#end(1006)
  }

  /** What came since the last time. */
  take(): ReadonlyArray<ServerMessage> {
    return this.received.splice(0)
  }

  #end(code: number): void {
    if (this.closedWith !== undefined) return
    this.closedWith = code
    this.#close()
  }
}
