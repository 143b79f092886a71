import * as Http from "node:http"
import { isIPv6 } from "node:net"
import type { Duplex } from "node:stream"
import type { HttpApi } from "@effect/platform"
import type { ApiError } from "@svc/api/ApiError"
import type { HandlerRegistry } from "@svc/api/Handlers"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import { VoiceApi } from "@svc/api/VoiceApi"
import { BadRequest, MethodNotAllowed, RouteNotFound, toBody, Unavailable } from "@svc/api/VoiceError"
import { withoutServices } from "@svc/api/WithoutServices"
import { InFlightSet } from "@svc/providers/InFlightSet"
import { Providers } from "@svc/providers/Providers"
import type { RouteResponse } from "@svc/providers/Route"
import { Cause, type ConfigError, Context, Data, Effect, Either, Fiber, Layer, Runtime, type Scope } from "effect"
import { ClientAddress } from "../access/ClientAddress.ts"
import type { Security } from "../access/Security.ts"
import * as VoicePipeline from "../access/VoicePipeline.ts"
import { errorShapeOf } from "../exchange/ErrorShapes.ts"
import { begin, type Exchange, type Report } from "../exchange/Exchange.ts"
import { requestId } from "../exchange/RequestId.ts"
import { contained, send, sendError } from "../exchange/Responses.ts"
import { pluginSocketRoutes } from "../plugins/PluginRoutes.ts"
import { PluginSockets } from "../plugins/PluginSockets.ts"
import * as Dispatcher from "../routing/Dispatcher.ts"
import { servePlain } from "../routing/PlainRoutes.ts"
import { type Found, pathOf, type RouteConflict, RouteTable } from "../routing/RouteTable.ts"
import * as WorkspacePipeline from "../workspace/WorkspacePipeline.ts"
import * as Drain from "./Drain.ts"
import { type HttpSettings, httpSettings } from "./HttpSettings.ts"

/** The address cannot be listened on; `message` is one line for the operator. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

/** Milliseconds. Longer than the idle time of common proxies, so that they close first. */
const keepAliveTimeout = 75_000
/** Milliseconds in which a request must arrive, body included. */
const requestTimeout = 60_000
/** Milliseconds in which its head must arrive. */
const headersTimeout = 20_000

const listenMessage = ({ host, port }: HttpSettings, error: NodeJS.ErrnoException): string => {
  if (error.code === "EADDRINUSE") return `Port ${port} on ${host} is in use; set SVC_PORT to a free one`
  if (error.code === "EACCES") return `Port ${port} on ${host} may not be listened on by this user; set SVC_PORT`
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return `SVC_HOST ${host} is not an address of this machine`
  }
  return `Cannot listen on ${host} port ${port}: ${error.message}`
}

const listen = (server: Http.Server, settings: HttpSettings): Effect.Effect<number, ListenError> =>
  Effect.async((resume) => {
    server.once("error", (error) => resume(new ListenError({ message: listenMessage(settings, error) })))
    server.listen(settings.port, settings.host, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : settings.port))
    })
  })

const urlTooLong: ApiError = {
  _tag: "BadRequest",
  code: "BAD_REQUEST",
  status: 414,
  message: "The URL is too long"
}

/** Answers a request that matches no route. */
const sendMiss = (exchange: Exchange, miss: Exclude<Found<unknown>, { readonly _tag: "Match" }>): void => {
  if (miss._tag === "NoSuchPath") sendError(exchange, new RouteNotFound())
  else if (miss._tag === "NoSuchMethod") sendError(exchange, new MethodNotAllowed(), { Allow: miss.allow })
  else if (miss.tooLong) sendError(exchange, urlTooLong)
  else sendError(exchange, new BadRequest({ message: "The URL is not valid" }))
}

/** Answers bytes that are not an HTTP request: there is no response object for those. */
const refuseMalformed = (error: NodeJS.ErrnoException, stream: Duplex): void => {
  if (error.code === "ECONNRESET" || !stream.writable) {
    stream.destroy()
    return
  }
  const [status, reason, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "Request Header Fields Too Large", "The request's headers are too large"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "Request Timeout", "The request did not come in in time"]
        : [400, "Bad Request", "The request is not valid HTTP"]
  const body = JSON.stringify(toBody({ code: new BadRequest().code, message }))
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId(undefined)}`
  ]
  stream.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

/** The response to a request whose upgrade is refused: like any other, but the connection is closed. */
const plainResponse = (request: Http.IncomingMessage, stream: Duplex): Http.ServerResponse => {
  const response = new Http.ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(request.socket)
  response.once("finish", () => stream.end())
  return response
}

const tableOf = <A extends { readonly path: string }>(
  routes: ReadonlyArray<A>,
  methodOf: (route: A) => string
): Effect.Effect<RouteTable<A>, RouteConflict> =>
  Effect.suspend(() => {
    const table = new RouteTable<A>()
    for (const route of routes) {
      const conflict = table.add(methodOf(route), route.path, route)
      if (conflict !== undefined) return conflict
    }
    return Effect.succeed(table)
  })

/**
 * The HTTP server: the APIs by their contracts, the plugins' routes, health and readiness. It listens when the layer
 * is built and drains when the layer ends, while the services it depends on still run.
 */
export class HttpServer extends Context.Tag("@svc/server/HttpServer")<
  HttpServer,
  {
    readonly host: string
    readonly port: number
    /** The server's URL, without a slash at the end: `SVC_BASE_URL`, or else the listen address. */
    readonly url: string
  }
>() {
  /** Serves both APIs and the registered plain routes. */
  static readonly layer: Layer.Layer<HttpServer, StartError, Needs | WorkspacePipeline.WorkspacePipeline> =
    Layer.suspend(() =>
      layerOf<WorkspacePipeline.WorkspacePipeline | HandlerRegistry>(VoiceApi, WorkspacePipeline.routes)
    )
}

/** Errors that prevent the start; the message of each is one line for the operator. */
export type StartError = ConfigError.ConfigError | Dispatcher.ContractMismatch | RouteConflict | ListenError

type Needs = HandlerRegistry | RouteRegistry | Security | ClientAddress | Providers | PluginSockets

/** The server for another contract than {@link VoiceApi}, with or without another API beside it. */
export const layerOf = <R = never>(
  api: HttpApi.HttpApi.Any,
  ...others: ReadonlyArray<Dispatcher.ServedRoutes<R>>
): Layer.Layer<HttpServer, StartError, Needs | R> => Layer.scoped(HttpServer, start(api, others))

/**
 * Starts the fibers of requests, which are interrupted when the scope closes. They have no services but those of their
 * request: routes take theirs when they are made, also `Context.Reference`s, whose default a request would get.
 */
const requestFibers: Effect.Effect<Dispatcher.RunRequest, never, Scope.Scope> = Effect.gen(function* () {
  const runFork = Runtime.runFork(yield* withoutServices(Effect.runtime<never>()))
  const running = new InFlightSet<Fiber.RuntimeFiber<unknown, ApiError>>()
  let isOver = false
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isOver = true
      return Fiber.interruptAll(running)
    })
  )
  return (effect) => {
    const fiber = runFork(isOver ? Effect.interrupt : effect)
    fiber.addObserver(running.add(fiber))
    return fiber
  }
})

const start = <R>(
  api: HttpApi.HttpApi.Any,
  others: ReadonlyArray<Dispatcher.ServedRoutes<R>>
): Effect.Effect<Context.Tag.Service<HttpServer>, StartError, Needs | R | Scope.Scope> =>
  Effect.gen(function* () {
    const settings = yield* httpSettings
    const clients = yield* ClientAddress
    const sockets = yield* PluginSockets
    const { telephony } = yield* Providers
    const run = yield* requestFibers

    const registered = yield* Effect.flatMap(RouteRegistry, ({ all }) => all)
    const options = { run, strict: settings.strictResponses }
    const routes = yield* tableOf(
      [
        ...(yield* VoicePipeline.routes(api)(options)),
        ...(yield* Effect.forEach(others, (routesOf) => routesOf(options))).flat(),
        ...registered.map((route) => servePlain(route, run))
      ],
      ({ method }) => method
    )
    const upgrades = yield* tableOf(pluginSocketRoutes(telephony), () => "GET")

    const server = Http.createServer({ keepAliveTimeout, requestTimeout, headersTimeout })
    const drain = Drain.make(server)

    const report: Report = ({ id, request }, defect) => {
      // Two segments of the path: a later one may be a secret token.
      const where = pathOf(request.url ?? "")
        .split("/", 3)
        .join("/")
      const message = `The response to ${request.method} ${where} could not be written`
      run(Effect.annotateLogs(Effect.logError(message, Cause.die(defect)), { request_id: id }))
    }
    const exchangeOf = (request: Http.IncomingMessage, response: Http.ServerResponse): Exchange =>
      begin(request, response, clients.of(request), errorShapeOf(request.url ?? ""), report)

    const onRequest = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
      const exchange = exchangeOf(request, response)
      contained(exchange, () => {
        if (!drain.admit(exchange)) {
          sendError(exchange, new Unavailable({ message: "The server is stopping" }))
          return
        }
        const found = routes.find(request.method ?? "", request.url ?? "")
        if (found._tag === "Match") found.value.serve(exchange, found.params, found.search)
        else sendMiss(exchange, found)
      })
    }
    const onUpgrade = (request: Http.IncomingMessage, stream: Duplex, head: Buffer): void => {
      stream.on("error", () => stream.destroy())
      const found = upgrades.find(request.method ?? "", request.url ?? "")
      const wanted = request.headers.upgrade?.toLowerCase() === "websocket"
      if (!wanted || found._tag !== "Match" || drain.isStopping()) {
        onRequest(request, plainResponse(request, stream))
        return
      }
      const { open, path } = found.value
      const response = plainResponse(request, stream)
      const exchange = exchangeOf(request, response)
      contained(exchange, () => {
        const opened = Either.try({
          try: () => open(exchange, found.params, found.search),
          catch: (defect) => Cause.die(defect)
        })
        if (Either.isLeft(opened)) {
          Dispatcher.answerFailure(exchange, path, opened.left, run)
          return
        }
        const { accept, admit, refusal } = opened.right
        const complete = (refused: RouteResponse | undefined): void => {
          if (refused !== undefined) send(exchange, refused.status, refused.headers ?? {}, refused.body)
          else if (drain.isStopping()) sendError(exchange, new Unavailable({ message: "The server is stopping" }))
          else {
            response.detachSocket(request.socket)
            sockets.upgrade(request, stream, head, path, accept)
          }
        }
        if (refusal !== undefined || admit === undefined) complete(refusal)
        else
          run(admit).addObserver((exit) =>
            contained(exchange, () => {
              if (stream.destroyed) return
              if (exit._tag === "Failure") Dispatcher.answerFailure(exchange, path, exit.cause, run)
              else complete(exit.value)
            })
          )
      })
    }
    server.on("request", onRequest).on("checkContinue", onRequest).on("upgrade", onUpgrade)
    server.on("clientError", refuseMalformed)

    const port = yield* Effect.acquireRelease(listen(server, settings), () => drain.run)
    const host = isIPv6(settings.host) ? `[${settings.host}]` : settings.host
    return { host: settings.host, port, url: settings.baseUrl ?? `http://${host}:${port}` }
  })
