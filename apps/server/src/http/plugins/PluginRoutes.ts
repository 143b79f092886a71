import { type PlainRequest, type PlainRoute, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { toBody } from "@svc/api/VoiceError"
import { Providers } from "@svc/providers/Providers"
import type { Route, RouteRequest, RouteResponse, RouteSocket } from "@svc/providers/Route"
import type { Telephony } from "@svc/providers/Telephony"
import { type Context, Effect, type Layer } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"
import { plainRequest } from "../routing/PlainRoutes.ts"
import type { PathParams } from "../routing/RouteTable.ts"

type Telephonies = ReadonlyArray<Context.Tag.Service<Telephony>>

/** A plugin's WebSocket route where it is mounted. */
export interface MountedSocket {
  readonly path: string
  /** What the plugin does with a request: gives the response with which it refuses it, or takes the upgraded socket. */
  readonly open: (
    exchange: Exchange,
    params: PathParams,
    search: string
  ) => {
    readonly refusal: RouteResponse | undefined
    /** Decides after `refusal` whether the request is refused; undefined: it is not. */
    readonly admit: Effect.Effect<RouteResponse | undefined> | undefined
    readonly accept: (socket: RouteSocket) => void
  }
}

const mountOf = (id: string): string => `/telephony/${id}`

const toRouteRequest = (mount: string, request: PlainRequest, body: Uint8Array): RouteRequest => ({
  method: request.method,
  path: request.path.slice(request.path.indexOf(mount) + mount.length),
  query: request.query,
  ...(request.search === undefined ? {} : { search: request.search }),
  headers: request.headers,
  body,
  params: request.params,
  remoteAddress: request.address
})

/** A plugin's HTTP route. A carrier's request runs to completion even when the carrier disconnects. */
const httpRoute = (mount: string, { handle, method, path }: Extract<Route, { readonly _tag: "Http" }>): PlainRoute => ({
  method,
  path: mount + path,
  handle: (request) => Effect.flatMap(request.body, (body) => handle(toRouteRequest(mount, request, body)))
})

/** Answers a plain request to a path that takes WebSocket connections only. */
const refusal = (path: string): PlainRoute => ({
  method: "GET",
  path,
  handle: () =>
    Effect.succeed({
      status: 426,
      headers: { Upgrade: "websocket", "Content-Type": "application/json" },
      body: JSON.stringify(toBody({ code: "BAD_REQUEST", message: "This address takes WebSocket connections only" }))
    })
})

const routesOf = (telephony: Telephonies): ReadonlyArray<PlainRoute> =>
  telephony.flatMap(({ id, routes }) => {
    const mount = mountOf(id)
    const takesGet = (path: string): boolean =>
      routes.some((route) => route._tag === "Http" && route.method === "GET" && route.path === path)
    return routes.flatMap((route) => {
      if (route._tag === "Http") return [httpRoute(mount, route)]
      return takesGet(route.path) ? [] : [refusal(mount + route.path)]
    })
  })

/** Registers each telephony plugin's HTTP routes under `/telephony/<id>`. Plugins check signatures themselves. */
export const PluginRoutes: Layer.Layer<never, never, Providers | RouteRegistry> = plainRoutes(
  Effect.map(Providers, ({ telephony }) => routesOf(telephony))
)

/** The WebSocket routes of telephony plugins, under the same mount points. */
export const pluginSocketRoutes = (telephony: Telephonies): ReadonlyArray<MountedSocket> =>
  telephony.flatMap(({ id, routes }) =>
    routes.flatMap((route) => {
      if (route._tag === "Http") return []
      const mount = mountOf(id)
      return [
        {
          path: mount + route.path,
          open: (exchange: Exchange, params: PathParams, search: string) => {
            const request = toRouteRequest(mount, plainRequest(exchange, params, search), new Uint8Array())
            return {
              refusal: route.refuse?.(request),
              admit: route.admit?.(request),
              accept: (socket: RouteSocket) => route.accept(socket, request)
            }
          }
        }
      ]
    })
  )
