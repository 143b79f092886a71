import { Context, Effect, Layer } from "effect"
import type { ApiError } from "./ApiError.ts"

/**
 * Routes outside the contracts: files, pages, event streams, health, routes of plugins. Each slice registers its own
 * and sees no socket; the server serves the routes that are registered when it starts. The server does not
 * authenticate their requests: each route checks access itself.
 */

/** A request to a plain route. */
export interface PlainRequest {
  /** `GET` also serves `HEAD`; the body is then left out. */
  readonly method: string
  /** As it was sent, without the query. */
  readonly path: string
  /** The decoded `:name` parts of the route's path. */
  readonly params: { readonly [name: string]: string | undefined }
  readonly query: URLSearchParams
  /** The query as it was sent, from its `?` on; empty without one. Absent: not known. */
  readonly search?: string
  /** Names are lower-case; several values of one name are joined by `, `. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** The client's IP address. */
  readonly address: string
  /** Reads the body, once; at most 1 MB. */
  readonly body: Effect.Effect<Uint8Array, ApiError>
}

/** Writes a body piece by piece. */
export interface BodyWriter {
  /** Sends a piece, and completes when the connection has taken it. */
  readonly write: (piece: string | Uint8Array) => Effect.Effect<void>
  /** Sends a piece without waiting for the connection. */
  readonly push: (piece: string | Uint8Array) => void
  /** Whether the client reads slower than pieces are pushed: further pieces stay in memory. */
  readonly isBehind: () => boolean
  /** Whether the server has begun to stop: a body without an end has to end soon. */
  readonly isStopping: () => boolean
}

/**
 * A body that is sent while it is produced. It is interrupted when the client disconnects. When it fails, the
 * connection is cut, so that the client does not take the incomplete body for a complete one.
 */
export type StreamedBody = (writer: BodyWriter) => Effect.Effect<void, unknown>

/** A response of a plain route. */
export interface PlainResponse {
  readonly status: number
  /** Names are in the case in which they are sent. `Content-Length` is added unless the body is streamed or absent. */
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string | Uint8Array | StreamedBody
}

/** A route outside the contracts. */
export interface PlainRoute {
  readonly method: string
  /** Such as `/v1/recordings/:file`. */
  readonly path: string
  /** Runs to completion even when the client disconnects. */
  readonly handle: (request: PlainRequest) => Effect.Effect<PlainResponse, ApiError>
}

/** Collects the plain routes of all slices; the server reads it once when it starts. */
export class RouteRegistry extends Context.Tag("@svc/api/RouteRegistry")<
  RouteRegistry,
  {
    readonly add: (routes: ReadonlyArray<PlainRoute>) => Effect.Effect<void>
    readonly all: Effect.Effect<ReadonlyArray<PlainRoute>>
  }
>() {
  static readonly layer: Layer.Layer<RouteRegistry> = Layer.sync(RouteRegistry, () => {
    const registered: Array<PlainRoute> = []
    return {
      add: (routes) => Effect.sync(() => void registered.push(...routes)),
      all: Effect.sync(() => registered)
    }
  })
}

/** The layer that registers routes. `build` runs once and takes their dependencies. */
export const plainRoutes = <E, R>(
  build: Effect.Effect<ReadonlyArray<PlainRoute>, E, R>
): Layer.Layer<never, E, R | RouteRegistry> =>
  Layer.effectDiscard(Effect.flatMap(RouteRegistry, (registry) => Effect.flatMap(build, registry.add)))
