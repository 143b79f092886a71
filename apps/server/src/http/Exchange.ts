import type { IncomingMessage, ServerResponse } from "node:http"
import { requestId } from "./RequestId.ts"

/** A request and its response, as the parts of the server hand them to each other. */
export interface Exchange {
  /** The client's IP address; not its proxy's. */
  readonly address: string
  /** The `X-Request-Id` that the response carries. */
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Begins an exchange; whatever answers it, the response carries the request's id. */
export const begin = (request: IncomingMessage, response: ServerResponse, address: string): Exchange => {
  const id = requestId(request.headers["x-request-id"])
  response.setHeader("X-Request-Id", id)
  return { address, id, request, response }
}
