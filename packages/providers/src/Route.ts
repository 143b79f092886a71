import type { Effect } from "effect"

/** A request to a plugin's route. `path` is relative to the plugin's mount point and starts with `/`, or is empty. */
export interface RouteRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The query as it was sent, from its `?` on, for signatures; empty without one. Absent: not known. */
  readonly search?: string
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** The raw body (at most 1 MB), for signatures. */
  readonly body: Uint8Array
  readonly params: { readonly [name: string]: string | undefined }
  readonly remoteAddress: string
}

/** A response. One that cannot be sent becomes a 500, and the log says why. */
export interface RouteResponse {
  /** 200 to 599. */
  readonly status: number
  /** Plain objects only. Characters of latin-1; encode what comes from outside, or it could break a header. */
  readonly headers?: { readonly [name: string]: string }
  /** Not with 204, 205 and 304. */
  readonly body?: string | Uint8Array
}

/** A WebSocket of a phone or carrier. Synchronous, because it carries media. */
export interface RouteSocket {
  /** Sends one message. Does nothing when the socket is closed. Closes it when the data is of another type. */
  readonly send: (data: string | Uint8Array) => void
  /** Bytes that were sent but not yet passed to the operating system. */
  readonly bufferedBytes: () => number
  readonly close: (code?: number, reason?: string) => void
  readonly onMessage: (handler: (data: string | Uint8Array) => void) => void
  /**
   * Called once when the socket is closed by either side or breaks, with the close code (RFC 6455, 7.4): 1006 when no close
   * frame came.
   */
  readonly onClose: (handler: (code: number) => void) => void
}

/** A route under `/telephony/<id>`; `path` is `""` for the mount point itself, `/calls/:call_id` with parameters. */
export type Route =
  | {
      readonly _tag: "Http"
      readonly method: "GET" | "POST" | "DELETE"
      readonly path: string
      readonly handle: (request: RouteRequest) => Effect.Effect<RouteResponse>
    }
  | {
      readonly _tag: "WebSocket"
      readonly path: string
      /** Called before the upgrade. With a response, the connection is refused with it. Synchronous; must not throw. */
      readonly refuse?: (request: RouteRequest) => RouteResponse | undefined
      /** The same for what takes time, such as a look-up; runs after `refuse`. The connection waits meanwhile. */
      readonly admit?: (request: RouteRequest) => Effect.Effect<RouteResponse | undefined>
      /** Called after the upgrade. Must not throw. */
      readonly accept: (socket: RouteSocket, request: RouteRequest) => void
    }
