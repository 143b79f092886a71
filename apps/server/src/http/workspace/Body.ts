import { Effect } from "effect"
import { readBody } from "../routing/RequestPipeline.ts"
import type { Middleware } from "./Middleware.ts"

/** Reads the body. It comes before the idempotency key, whose requests are compared by their bodies. */
export const body: Effect.Effect<Middleware> = Effect.succeed((request, next) =>
  Effect.flatMap(readBody(request.endpoint, request.incoming), (value) => next({ ...request, body: { value } }))
)
