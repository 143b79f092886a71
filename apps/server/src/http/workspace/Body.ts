import { Effect } from "effect"
import { readBody } from "../routing/RequestPipeline.ts"
import type { Middleware } from "./Middleware.ts"

/** Reads the body, which tells two requests with the same idempotency key apart. */
export const body: Effect.Effect<Middleware> = Effect.succeed((request, next) =>
  Effect.flatMap(readBody(request.endpoint, request.incoming), (value) => next({ ...request, body: { value } }))
)
