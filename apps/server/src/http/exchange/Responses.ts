import type { ApiError } from "@svc/api/ApiError"
import type { Exchange } from "./Exchange.ts"
import { endAfterDiscarding, isEndless } from "./UnreadBody.ts"

/** Response headers. Names are in the case in which they are sent. */
export interface ResponseHeaders {
  readonly [name: string]: string
}

/** Sets headers of the response, before its body is sent. */
export const applyHeaders = ({ response }: Exchange, headers: ResponseHeaders): void => {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}

/** Sends a complete response. Does nothing when the exchange has been answered or the client is gone. */
export const send = (
  exchange: Exchange,
  status: number,
  headers: ResponseHeaders,
  body: string | Uint8Array | undefined
): void => {
  const { response } = exchange
  if (response.headersSent || response.destroyed) return
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  // A string stays one: Node then sends head and body in one write.
  if (body !== undefined) response.setHeader("Content-Length", Buffer.byteLength(body))
  if (!isEndless(exchange)) {
    response.writeHead(status)
    response.end(body)
    return
  }
  response.setHeader("Connection", "close")
  response.writeHead(status)
  if (body === undefined) response.flushHeaders()
  else response.write(body)
  endAfterDiscarding(exchange)
}

/** Sends JSON that is text already. */
export const sendJson = (exchange: Exchange, status: number, json: string, headers: ResponseHeaders = {}): void =>
  send(exchange, status, { ...headers, "Content-Type": "application/json" }, json)

const errorHeaders = (error: ApiError): ResponseHeaders => {
  if (error.retryAfter !== undefined) return { "Retry-After": String(error.retryAfter) }
  return error.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
}

/** Sends an error, in the shape of the API that the request went to. */
export const sendError = (exchange: Exchange, error: ApiError, headers: ResponseHeaders = {}): void => {
  const { body, status } = exchange.errorShape(error, exchange.id)
  sendJson(exchange, status, JSON.stringify(body), { ...errorHeaders(error), ...headers })
}
