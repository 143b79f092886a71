import type { IncomingMessage, ServerResponse } from "node:http"
import type { ApiError } from "@svc/api/ApiError"
import { Effect, FiberRef, HashMap } from "effect"
import { requestId } from "./RequestId.ts"

/** Status and body of an error response: each API has its own shape and its own table of statuses. */
export type ErrorShape = (error: ApiError, id: string) => { readonly status: number; readonly body: unknown }

/** A request and its response, as the parts of the server pass them on. */
export interface Exchange {
  /** The client's IP address; not its proxy's. */
  readonly address: string
  /** The `X-Request-Id` that the response carries. */
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Makes the response of any error, wherever in the server it comes from. */
  readonly errorShape: ErrorShape
  /** Logs what went wrong while a response was written. Never throws. */
  readonly report: Report
}

export type Report = (exchange: Exchange, defect: unknown) => void

/**
 * Puts the request's id on all that the fiber of a request logs, as `request_id`. It is set, not provided: nothing after
 * the request runs in that fiber.
 */
export const withRequestId = <A, E, R>({ id }: Exchange, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.zipRight(
    FiberRef.update(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>("request_id", id)),
    effect
  )

/** Begins an exchange. Every response carries the request's id. */
export const begin = (
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
  errorShape: ErrorShape,
  report: Report
): Exchange => {
  const id = requestId(request.headers["x-request-id"])
  response.setHeader("X-Request-Id", id)
  const exchange = { address, errorShape, id, report, request, response }
  // Without a listener, a write after the end of a response would end the process.
  response.on("error", (error) => report(exchange, error))
  return exchange
}
