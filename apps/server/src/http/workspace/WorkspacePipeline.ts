import type { HttpApi } from "@effect/platform"
import { HandlerRegistry } from "@svc/api/Handlers"
import { CurrentWorkspace, workspacePath } from "@svc/api/Workspace"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import type { AuthFailures } from "@svc/auth/AuthFailures"
import type { Keys } from "@svc/auth/Keys"
import type { RateLimits } from "@svc/auth/RateLimits"
import type { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import type { Idempotency } from "@svc/bookings/Idempotency"
import { Context, Effect, Layer } from "effect"
import * as Dispatcher from "../routing/Dispatcher.ts"
import type { Answer, RequestPipeline } from "../routing/RequestPipeline.ts"
import { authentication } from "./Authentication.ts"
import { body } from "./Body.ts"
import { idempotencyKey } from "./IdempotencyKey.ts"
import { bodyOf, chain, type Middleware, principalOf } from "./Middleware.ts"
import { requestRate } from "./RequestRate.ts"
import { scope } from "./Scope.ts"

/** Adds the request's id to an envelope, a replayed one included. */
const addRequestId = ({ body: envelope, status }: Answer, request_id: string): Answer => {
  // Handlers of this API return envelopes, by their type.
  const { meta, ...rest } = envelope as { readonly meta?: object }
  return { status, body: { ...rest, meta: { ...meta, request_id } } }
}

/** The pipeline of the workspace API, made of middleware. */
export class WorkspacePipeline extends Context.Tag("@svc/server/WorkspacePipeline")<
  WorkspacePipeline,
  RequestPipeline<CurrentWorkspace>
>() {
  /**
   * In the order in which a request passes: failed authentications of the address and key; rate limits; scope; body;
   * idempotency. The first step that refuses a request answers it.
   */
  static readonly layer: Layer.Layer<
    WorkspacePipeline,
    never,
    Keys | AuthFailures | RateLimits | WorkspaceLimits | Idempotency
  > = Layer.suspend(() => layerOf(WorkspaceApi, Effect.all([authentication, requestRate, scope, body, idempotencyKey])))
}

/** The pipeline for another contract, or with the steps in another order. */
export const layerOf = <R>(
  api: HttpApi.HttpApi.Any,
  steps: Effect.Effect<ReadonlyArray<Middleware>, never, R>
): Layer.Layer<WorkspacePipeline, never, R> =>
  Layer.effect(
    WorkspacePipeline,
    Effect.map(steps, (middleware) => ({
      api,
      prefix: workspacePath,
      serve: (endpoint) => (incoming, handle) => {
        const run = chain(middleware, (request) =>
          Effect.flatMap(Effect.zip(principalOf(request), bodyOf(request)), ([principal, { value }]) =>
            Effect.map(handle(value, Context.add(CurrentWorkspace, principal)), (envelope) => ({
              status: endpoint.status,
              body: envelope
            }))
          )
        )
        return Effect.map(run({ endpoint, incoming }), (answer) => addRequestId(answer, incoming.exchange.id))
      }
    }))
  )

/** The routes of the workspace API, with the handlers that were registered for it. */
export const routes: Dispatcher.ServedRoutes<WorkspacePipeline | HandlerRegistry> = (options) =>
  Effect.gen(function* () {
    const pipeline = yield* WorkspacePipeline
    const registry = yield* HandlerRegistry
    return yield* Dispatcher.routes(pipeline, yield* registry.workspace.all, options)
  })
