import type { ApiError } from "@svc/api/ApiError"
import type { WorkspacePrincipal } from "@svc/api/Workspace"
import { MiddlewareOrder } from "@svc/api/WorkspaceError"
import { Effect } from "effect"
import type { Endpoint } from "../routing/Endpoint.ts"
import type { Answer, Incoming } from "../routing/RequestPipeline.ts"

/** A request to the workspace API, with what earlier middleware added. */
export interface WorkspaceRequest {
  readonly endpoint: Endpoint
  readonly incoming: Incoming
  /** Set by authentication. */
  readonly principal?: WorkspacePrincipal
  /** The body, parsed and not decoded yet; set when it was read. */
  readonly body?: { readonly value: unknown }
}

/** The rest of the pipeline. */
export type Next = (request: WorkspaceRequest) => Effect.Effect<Answer, ApiError>

/** One step of the pipeline: it answers the request, or passes it on. */
export type Middleware = (request: WorkspaceRequest, next: Next) => Effect.Effect<Answer, ApiError>

/** The steps one after the other, then `last`. */
export const chain = (steps: ReadonlyArray<Middleware>, last: Next): Next =>
  steps.reduceRight<Next>((next, step) => (request) => step(request, next), last)

/** A value that an earlier step must have added. Without it the steps are in the wrong order. */
const required = <A>(value: A | undefined, what: string): Effect.Effect<A, MiddlewareOrder> =>
  value === undefined
    ? Effect.zipRight(
        Effect.logError(
          `The middleware of the workspace API is in the wrong order: ${what} is not known where it is needed`
        ),
        Effect.fail(new MiddlewareOrder())
      )
    : Effect.succeed(value)

export const principalOf = ({ principal }: WorkspaceRequest): Effect.Effect<WorkspacePrincipal, MiddlewareOrder> =>
  required(principal, "who makes the request")

export const bodyOf = ({ body }: WorkspaceRequest): Effect.Effect<{ readonly value: unknown }, MiddlewareOrder> =>
  required(body, "the body")
