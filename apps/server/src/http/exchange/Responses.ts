import type { ApiError } from "@svc/api/ApiError"
import { InternalError } from "@svc/api/VoiceError"
import type { Exchange } from "./Exchange.ts"
import { endAfterDiscarding, isEndless } from "./UnreadBody.ts"

/** Response headers. Names are in the case in which they are sent. */
export interface ResponseHeaders {
  readonly [name: string]: string
}

/** What a client gets when its response cannot be written. It has no variable part, so it can be. */
const sendInternalError = (exchange: Exchange): void => {
  const { id, response } = exchange
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  const { body, status } = exchange.errorShape(new InternalError(), id)
  const json = JSON.stringify(body)
  response.setHeader("X-Request-Id", id)
  response.setHeader("Content-Type", "application/json")
  response.setHeader("Content-Length", Buffer.byteLength(json))
  response.setHeader("Connection", "close")
  response.writeHead(status)
  response.end(json)
}

/**
 * Runs a part of answering an exchange that is called by node:http or at the end of a fiber, where a throw would end the
 * process: node refuses headers, statuses and bodies by throwing. Reports what it throws and answers 500, or cuts the
 * connection when the response has begun.
 */
export const contained = (exchange: Exchange, answer: () => void): void => {
  try {
    answer()
  } catch (defect) {
    const { request, response } = exchange
    exchange.report(exchange, defect)
    try {
      // A connection that was upgraded has no response any more.
      if (response.socket === null) request.destroy()
      else if (response.headersSent) response.destroy()
      else sendInternalError(exchange)
    } catch {
      // Reported above. The client sees the connection close.
      response.destroy()
    }
  }
}

/** Sets headers of the response, before its body is sent. */
export const applyHeaders = ({ response }: Exchange, headers: ResponseHeaders): void => {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}

/** Sends a complete response. Throws when node refuses a part of it: see {@link contained}. Does nothing when the exchange has been answered or the client is gone. */
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
