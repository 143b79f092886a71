import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Context, Effect, Layer } from "effect"
import type { ApiError } from "./ApiError.ts"
import type { EventStream, Streamed } from "./EventStream.ts"
import type { CurrentPrincipal, CurrentProject } from "./Principal.ts"
import type { CurrentWorkspace } from "./Workspace.ts"

/**
 * Handlers of one API group. `HttpApi` is the contract (types, OpenAPI, client); the server compiles it together with
 * these handlers into one flat function per route, which costs a third of the stock builder per request.
 */

/** The request as a handler sees it: only the parts that the endpoint declares, decoded. */
export type HandlerRequest<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = Omit<
  HttpApiEndpoint.HttpApiEndpoint.Request<E>,
  "request"
>

/** Request services that the handlers of the voice API may use. */
export type VoiceServices = CurrentPrincipal | CurrentProject | EventStream

/** The codes of wire errors: at the top of a body of the voice API, under `error` in one of the workspace API. */
type CodeOf<Wire> = Wire extends { readonly code: infer Code extends string }
  ? Code
  : Wire extends { readonly error: { readonly code: infer Code extends string } }
    ? Code
    : never

type ApiWideErrors<A> = A extends HttpApi.HttpApi<string, infer _G, infer E, infer _R> ? E : never

/** An error that a handler may fail with: its code is declared by the endpoint, or by the API for all of them. */
export type DeclaredError<A, E extends HttpApiEndpoint.HttpApiEndpoint.Any> = ApiError & {
  readonly code: CodeOf<HttpApiEndpoint.HttpApiEndpoint.Error<E> | ApiWideErrors<A>>
}

/** One handler of the voice API `A`: returns the response body as it goes over the wire, or has streamed it. */
export type Handler<A, E extends HttpApiEndpoint.HttpApiEndpoint.Any> = (
  request: HandlerRequest<E>
) => Effect.Effect<HttpApiEndpoint.HttpApiEndpoint.Success<E> | Streamed, DeclaredError<A, E>, VoiceServices>

/** What a handler of the workspace API returns: the envelope without the request id, which the server adds. */
export type WithoutRequestId<Success> = Success extends { readonly data: infer Data; readonly meta: infer Meta }
  ? keyof Meta extends "request_id"
    ? { readonly data: Data }
    : { readonly data: Data; readonly meta: Omit<Meta, "request_id"> }
  : never

/** One handler of the workspace API `A`. */
export type WorkspaceHandler<A, E extends HttpApiEndpoint.HttpApiEndpoint.Any> = (
  request: HandlerRequest<E>
) => Effect.Effect<WithoutRequestId<HttpApiEndpoint.HttpApiEndpoint.Success<E>>, DeclaredError<A, E>, CurrentWorkspace>

type EndpointsOf<A, N extends string> =
  A extends HttpApi.HttpApi<string, infer G, infer _E, infer _R>
    ? HttpApiGroup.HttpApiGroup.EndpointsWithName<G, N>
    : never

/** All handlers of a group, by endpoint name; a missing one is a type error. */
export type GroupHandlers<A, N extends string> = {
  readonly [M in HttpApiEndpoint.HttpApiEndpoint.Name<EndpointsOf<A, N>>]: Handler<
    A,
    HttpApiEndpoint.HttpApiEndpoint.WithName<EndpointsOf<A, N>, M>
  >
}

/** All handlers of a group of the workspace API. */
export type WorkspaceGroupHandlers<A, N extends string> = {
  readonly [M in HttpApiEndpoint.HttpApiEndpoint.Name<EndpointsOf<A, N>>]: WorkspaceHandler<
    A,
    HttpApiEndpoint.HttpApiEndpoint.WithName<EndpointsOf<A, N>, M>
  >
}

/** A handler without its request type: the dispatcher has decoded the request by the endpoint's schemas. */
export type AnyHandler<Services = VoiceServices> = (request: never) => Effect.Effect<unknown, ApiError, Services>

/** A group's handlers as the server's dispatcher takes them. */
export interface RegisteredGroup<Services = VoiceServices> {
  readonly group: string
  readonly handlers: { readonly [endpoint: string]: AnyHandler<Services> }
}

/** The groups of one API. */
export interface RegisteredApi<Services> {
  readonly add: (group: RegisteredGroup<Services>) => Effect.Effect<void>
  readonly all: Effect.Effect<ReadonlyArray<RegisteredGroup<Services>>>
}

const makeRegisteredApi = <Services>(): RegisteredApi<Services> => {
  const groups: Array<RegisteredGroup<Services>> = []
  return {
    add: (group) => Effect.sync(() => void groups.push(group)),
    all: Effect.sync(() => groups)
  }
}

/** Collects the groups that the composition root merges; the dispatcher reads it once when the server starts. */
export class HandlerRegistry extends Context.Tag("@svc/api/HandlerRegistry")<
  HandlerRegistry,
  RegisteredApi<VoiceServices> & { readonly workspace: RegisteredApi<CurrentWorkspace> }
>() {
  static readonly layer: Layer.Layer<HandlerRegistry> = Layer.sync(HandlerRegistry, () => ({
    ...makeRegisteredApi<VoiceServices>(),
    workspace: makeRegisteredApi<CurrentWorkspace>()
  }))
}

/**
 * The layer that registers the handlers of a group of the voice API. `build` runs once and takes their dependencies;
 * per request they may use only {@link VoiceServices}.
 *
 * `static readonly layer = Handlers.group(VoiceApi, "agents", Effect.gen(function*() { … return { list, get } }))`
 */
export const group = <A extends HttpApi.HttpApi.Any, const N extends string, E, R>(
  _api: A,
  name: N,
  build: Effect.Effect<GroupHandlers<A, N>, E, R>
): Layer.Layer<never, E, R | HandlerRegistry> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const registry = yield* HandlerRegistry
      const handlers = yield* build
      yield* registry.add({ group: name, handlers })
    })
  )

/**
 * The same for the workspace API, whose handlers may use `CurrentWorkspace` and return {@link WithoutRequestId}
 * envelopes.
 */
export const workspaceGroup = <A extends HttpApi.HttpApi.Any, const N extends string, E, R>(
  _api: A,
  name: N,
  build: Effect.Effect<WorkspaceGroupHandlers<A, N>, E, R>
): Layer.Layer<never, E, R | HandlerRegistry> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { workspace } = yield* HandlerRegistry
      const handlers = yield* build
      yield* workspace.add({ group: name, handlers })
    })
  )
