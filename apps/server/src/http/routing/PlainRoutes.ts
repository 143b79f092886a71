import type { OpenStream } from "@svc/api/EventStream"
import type { PlainRequest, PlainResponse, PlainRoute, StreamedBody } from "@svc/api/PlainRoutes"
import { Effect } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"
import { withRequestId } from "../exchange/Exchange.ts"
import * as RequestBody from "../exchange/RequestBody.ts"
import { applyHeaders, contained, send } from "../exchange/Responses.ts"
import { answerFailure, type RunRequest, type ServedRoute } from "./Dispatcher.ts"
import type { PathParams } from "./RouteTable.ts"

/** A request as plain routes and plugins see it. */
export const plainRequest = (exchange: Exchange, params: PathParams, search: string): PlainRequest => {
  const { request } = exchange
  const target = request.url ?? ""
  const path = target.split("?", 1)[0] ?? ""
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return {
    method: request.method ?? "GET",
    path,
    params,
    query: new URLSearchParams(search),
    search: target.slice(path.length),
    headers,
    address: exchange.address,
    body: RequestBody.bytes(exchange)
  }
}

/**
 * Sends a head, after which the body is written piece by piece. Undefined when the exchange has been answered or the
 * client is gone. Throws when node refuses the head. `kept`: whether the connection was to be kept before the drain, which
 * clears that on every response in progress.
 */
export const openBody = (
  exchange: Exchange,
  { headers = {}, status }: Pick<PlainResponse, "headers" | "status">,
  kept: boolean
): OpenStream | undefined => {
  const { response } = exchange
  if (response.headersSent || response.destroyed) return undefined
  applyHeaders(exchange, headers)
  response.writeHead(status)
  return {
    write: (piece) => Effect.async<void>((resume) => void response.write(piece, () => resume(Effect.void))),
    push: (piece) => void response.write(piece),
    isBehind: () => response.writableNeedDrain,
    isStopping: () => kept && !response.shouldKeepAlive,
    end: () => void response.end(),
    cut: () => void response.destroy()
  }
}

/**
 * Sends a head and then a body piece by piece, until the body has ended. When it fails or is interrupted, the connection
 * is cut. Does nothing when the exchange has been answered or the client is gone.
 */
const streamed = (exchange: Exchange, head: PlainResponse, body: StreamedBody, kept: boolean): Effect.Effect<void> =>
  Effect.suspend(() => {
    const stream = openBody(exchange, head, kept)
    if (stream === undefined) return Effect.void
    if (exchange.request.method === "HEAD") return Effect.sync(stream.end)
    return body(stream).pipe(
      Effect.onExit((exit) => Effect.sync(exit._tag === "Success" ? stream.end : stream.cut)),
      Effect.catchAllCause(() => Effect.void)
    )
  })

const sendStreamed = (
  exchange: Exchange,
  head: PlainResponse,
  body: StreamedBody,
  kept: boolean,
  run: RunRequest
): void => {
  const { response } = exchange
  const fiber = run(withRequestId(exchange, streamed(exchange, head, body, kept)))
  response.once("close", () => response.writableFinished || fiber.unsafeInterruptAsFork(fiber.id()))
}

/** Serves a plain route over node:http. */
export const servePlain = ({ handle, method, path }: PlainRoute, run: RunRequest): ServedRoute => ({
  method,
  path,
  serve: (exchange, params, search) => {
    const kept = exchange.response.shouldKeepAlive
    run(
      withRequestId(
        exchange,
        Effect.suspend(() => handle(plainRequest(exchange, params, search)))
      )
    ).addObserver((exit) =>
      contained(exchange, () => {
        if (exit._tag === "Failure") answerFailure(exchange, path, exit.cause, run)
        else if (typeof exit.value.body === "function") sendStreamed(exchange, exit.value, exit.value.body, kept, run)
        else send(exchange, exit.value.status, exit.value.headers ?? {}, exit.value.body)
      })
    )
  }
})
