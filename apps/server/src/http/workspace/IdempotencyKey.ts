import type { ApiError } from "@svc/api/ApiError"
import type { JsonObject } from "@svc/api/Wire"
import { IdempotencyKeyTooLong, toErrorBody } from "@svc/api/WorkspaceError"
import { Idempotency } from "@svc/bookings/Idempotency"
import type { StoredAnswer } from "@svc/bookings/IdempotencyRepo"
import { Effect } from "effect"
import { applyHeaders } from "../exchange/Responses.ts"
import type { Answer } from "../routing/RequestPipeline.ts"
import { bodyOf, type Middleware, principalOf } from "./Middleware.ts"

/** Longest key, in characters. */
const maxLength = 128

/** The response to keep for a request. Server errors are not kept: the request may be sent again. */
const storable = (work: Effect.Effect<Answer, ApiError>): Effect.Effect<StoredAnswer, ApiError> =>
  work.pipe(
    // Handlers of this API return envelopes, by their type.
    Effect.map(({ body, status }) => ({ status, answer: body as JsonObject })),
    Effect.catchIf(
      (error) => error.status < 500,
      (error) => Effect.succeed({ status: error.status, answer: { error: toErrorBody(error) } })
    )
  )

/** Gives writes that carry an `Idempotency-Key` one effect and one response, however often they are sent. */
export const idempotencyKey: Effect.Effect<Middleware, never, Idempotency> = Effect.gen(function* () {
  const idempotency = yield* Idempotency
  return (request, next) => {
    const { endpoint, incoming } = request
    const key = incoming.exchange.request.headers["idempotency-key"]
    if (endpoint.method === "GET" || typeof key !== "string" || key === "") return next(request)
    if (key.length > maxLength) return Effect.fail(new IdempotencyKeyTooLong())
    return Effect.gen(function* () {
      const { key_id } = yield* principalOf(request)
      const body = yield* bodyOf(request)
      const content = [endpoint.method, endpoint.path, incoming.params, body.value]
      const { answer, replayed, status } = yield* idempotency.once({ key_id, key, content }, storable(next(request)))
      if (replayed) applyHeaders(incoming.exchange, { "Idempotency-Replayed": "true" })
      return { status, body: answer }
    })
  }
})
