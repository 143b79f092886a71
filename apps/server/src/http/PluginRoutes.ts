import type { ApiError } from "@svc/api/ApiError"
import type { Route, RouteRequest, RouteSocket } from "@svc/providers/Route"
import type { Telephony } from "@svc/providers/Telephony"
import { type Context, Effect } from "effect"
import { answerFailure, type RunRequest, type Serve, type ServedRoute } from "./Dispatcher.ts"
import type { Exchange } from "./Exchange.ts"
import * as RequestBody from "./RequestBody.ts"
import { send, sendError } from "./Responses.ts"
import type { PathParams } from "./RouteTable.ts"

/** A plugin's WebSocket route where it is mounted. */
export interface MountedSocket {
  readonly path: string
  /** Gives the upgraded socket of this request to the plugin. */
  readonly accept: (exchange: Exchange, params: PathParams, search: string) => (socket: RouteSocket) => void
}

/** The routes of all telephony plugins. */
export interface PluginRoutes {
  readonly http: ReadonlyArray<ServedRoute>
  readonly sockets: ReadonlyArray<MountedSocket>
}

interface Arrival {
  readonly exchange: Exchange
  readonly mount: string
  readonly params: PathParams
  readonly search: string
}

const toRouteRequest = ({ exchange, mount, params, search }: Arrival, body: Uint8Array): RouteRequest => {
  const { request } = exchange
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : value
  }
  const path = (request.url ?? "").split("?", 1)[0] ?? ""
  return {
    method: request.method ?? "GET",
    path: path.slice(path.indexOf(mount) + mount.length),
    query: new URLSearchParams(search),
    headers,
    body,
    params,
    remoteAddress: exchange.address
  }
}

/** Runs a plugin's HTTP route. A carrier's request is carried through even when the carrier hangs up. */
const serveHttp =
  (mount: string, route: Extract<Route, { readonly _tag: "Http" }>, run: RunRequest): Serve =>
  (exchange, params, search) => {
    const fiber = run(
      Effect.flatMap(RequestBody.bytes(exchange), (body) =>
        route.handle(toRouteRequest({ exchange, mount, params, search }, body))
      )
    )
    fiber.addObserver((exit) => {
      if (exit._tag === "Failure") answerFailure(exchange, `${route.method} ${mount}${route.path}`, exit.cause, run)
      else send(exchange, exit.value.status, exit.value.headers ?? {}, exit.value.body)
    })
  }

const upgradeRequired: ApiError = {
  _tag: "BadRequest",
  code: "BAD_REQUEST",
  status: 426,
  message: "This address takes WebSocket connections only"
}

/** A plain request where only WebSocket is spoken. */
const refusePlain: Serve = (exchange) => sendError(exchange, upgradeRequired, { Upgrade: "websocket" })

/** Mounts each plugin's routes under `/telephony/<id>`. Signatures are checked by the plugins themselves. */
export const mountAll = (telephony: ReadonlyArray<Context.Tag.Service<Telephony>>, run: RunRequest): PluginRoutes => {
  const http: Array<ServedRoute> = []
  const sockets: Array<MountedSocket> = []
  for (const { id, routes } of telephony) {
    const mount = `/telephony/${id}`
    for (const route of routes) {
      const path = mount + route.path
      if (route._tag === "Http") {
        http.push({ method: route.method, path, serve: serveHttp(mount, route, run) })
        continue
      }
      sockets.push({
        path,
        accept: (exchange, params, search) => {
          const request = toRouteRequest({ exchange, mount, params, search }, new Uint8Array())
          return (socket) => route.accept(socket, request)
        }
      })
      const alsoGet = routes.some(
        (other) => other._tag === "Http" && other.method === "GET" && other.path === route.path
      )
      if (!alsoGet) http.push({ method: "GET", path, serve: refusePlain })
    }
  }
  return { http, sockets }
}
