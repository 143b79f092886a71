import { type Context, Effect, Runtime, type Scope } from "effect"
import type { RouteRequest, RouteSocket } from "../Route.ts"
import type { Telephony } from "../Telephony.ts"
import { type EmulatedPeer, type EmulatedRequest, emulatedServer } from "./EmulatedServer.ts"

/** A server on a real socket for the routes of a telephony plugin, as the platform mounts them. */
export interface RouteServer {
  /** The public address, for `SVC_BASE_URL`. */
  readonly origin: string
  /** Serves the routes of this plugin from now on. */
  readonly mount: (telephony: Context.Tag.Service<Telephony>) => void
  /** Media connections that are open. */
  readonly openSockets: () => number
}

const headersOf = (request: EmulatedRequest): RouteRequest["headers"] =>
  Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value])
  )

const routeRequest = (request: EmulatedRequest, path: string): RouteRequest => ({
  method: request.method,
  path,
  query: request.query,
  search: request.search,
  headers: headersOf(request),
  body: request.body,
  params: {},
  remoteAddress: "127.0.0.1"
})

/** Gives a plugin a connection of the server, until it ends. */
const serve = (peer: EmulatedPeer, accept: (socket: RouteSocket) => void): Effect.Effect<void> =>
  Effect.gen(function* () {
    let onMessage: (data: string | Uint8Array) => void = () => {}
    let onClose: (code: number) => void = () => {}
    accept({
      send: (data) => peer.send(data),
      bufferedBytes: () => 0,
      close: (code = 1000, reason = "") => peer.close(code, reason),
      onMessage: (handler) => {
        onMessage = handler
      },
      onClose: (handler) => {
        onClose = handler
      }
    })
    while (true) {
      const message = yield* peer.next
      if (message === null) break
      onMessage(message)
    }
    onClose(peer.closed()?.code ?? 1006)
  }).pipe(Effect.uninterruptible)

/** `id`: the plugin's, below `/telephony/`. */
export const routeServer = (id: string): Effect.Effect<RouteServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const prefix = `/telephony/${id}`
    let telephony: Context.Tag.Service<Telephony> | undefined
    const pathOf = ({ path }: EmulatedRequest): string => path.slice(path.indexOf(prefix) + prefix.length)
    const server = yield* emulatedServer({
      request: (request, response) => {
        const path = pathOf(request)
        const route = telephony?.routes.find(
          (one) => one._tag === "Http" && one.path === path && one.method === request.method
        )
        if (route?._tag !== "Http") return void response.writeHead(404).end()
        runFork(
          Effect.map(route.handle(routeRequest(request, path)), ({ body = "", headers = {}, status }) => {
            response.writeHead(status, headers).end(body)
          })
        )
      },
      connection: (peer) => {
        const path = pathOf(peer.request)
        const route = telephony?.routes.find((one) => one._tag === "WebSocket" && one.path === path)
        if (route?._tag !== "WebSocket") return Effect.sync(() => peer.close(1008))
        return serve(peer, (socket) => route.accept(socket, routeRequest(peer.request, path)))
      }
    })
    return {
      origin: server.origin,
      mount: (mounted) => {
        telephony = mounted
      },
      openSockets: server.openPeers
    }
  })
