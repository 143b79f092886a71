import type { RouteRequest, RouteResponse, RouteSocket } from "@svc/providers/Route"
import type { Telephony } from "@svc/providers/Telephony"
import type { HostDouble } from "@svc/providers/testing/HostDouble"
import { Effect } from "effect"

/** A message of the server. */
export type Received = { readonly event: string; readonly [field: string]: unknown }

export const routeRequest = (
  params: { readonly [name: string]: string },
  query = "",
  headers: { readonly [name: string]: string } = {}
): RouteRequest => ({
  method: "GET",
  path: "",
  query: new URLSearchParams(query),
  headers,
  body: new Uint8Array(),
  params,
  remoteAddress: "127.0.0.1"
})

/** One connection of a page, in memory. */
export class PageSocket implements RouteSocket {
  readonly messages: Array<Received> = []
  readonly audio: Array<Uint8Array> = []
  closedWith: number | undefined
  /** Called with each message of the server. */
  onReceived: (received: Received | Uint8Array) => void = () => {}
  #message: (data: string | Uint8Array) => void = () => {}
  #close: (code: number) => void = () => {}

  readonly send = (data: string | Uint8Array): void => {
    if (this.closedWith !== undefined) return
    const received = typeof data === "string" ? JSON.parse(data) : data
    if (received instanceof Uint8Array) this.audio.push(received)
    else this.messages.push(received)
    this.onReceived(received)
  }
  readonly bufferedBytes = (): number => 0
  readonly close = (code = 1005): void => this.ends(code)
  readonly onMessage = (handler: (data: string | Uint8Array) => void): void => {
    this.#message = handler
  }
  readonly onClose = (handler: (code: number) => void): void => {
    this.#close = handler
  }

  /** The page sends a message. */
  sends(message: unknown): void {
    this.#message(JSON.stringify(message))
  }

  sendsRaw(data: string | Uint8Array): void {
    this.#message(data)
  }

  /** The connection ends: 1001 when the page is left, 1006 when the network is gone. */
  ends(code: number): void {
    if (this.closedWith !== undefined) return
    this.closedWith = code
    this.#close(code)
  }

  /** The events of the server's messages so far, without pings. */
  get events(): ReadonlyArray<string> {
    return this.messages.map(({ event }) => event).filter((event) => event !== "ping")
  }

  /** The messages that the server counts. */
  get counted(): number {
    return this.messages.filter(({ event }) => event !== "ping" && event !== "resumed").length + this.audio.length
  }

  field(event: string, name: string): string {
    return String(this.messages.find((message) => message.event === event)?.[name])
  }
}

export const link = "l".repeat(32)

/** Opens a call link at the host. */
export const openLink = ({ links }: HostDouble, token = link): void => void links.set(token, "open")

/** Connects a page as the server would; returns the response of a refusal. */
export const connect = (
  telephony: typeof Telephony.Service,
  {
    headers,
    query,
    token = link
  }: { token?: string; query?: string; headers?: { readonly [name: string]: string } } = {}
): Effect.Effect<PageSocket | RouteResponse> =>
  Effect.gen(function* () {
    const route = telephony.routes.find(({ _tag }) => _tag === "WebSocket")
    if (route?._tag !== "WebSocket") throw new Error("there is no WebSocket route")
    const request = routeRequest({ token }, query, headers)
    const refusal = route.refuse?.(request) ?? (route.admit === undefined ? undefined : yield* route.admit(request))
    if (refusal !== undefined) return refusal
    const socket = new PageSocket()
    route.accept(socket, request)
    return socket
  })

/** The same where it must be accepted. */
export const connected = (
  telephony: typeof Telephony.Service,
  options: Parameters<typeof connect>[1] = {}
): Effect.Effect<PageSocket> =>
  Effect.map(connect(telephony, options), (socket) => {
    if (socket instanceof PageSocket) return socket
    throw new Error(`refused with ${socket.status}`)
  })
