import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Context, Effect, Layer } from "effect"
import type { CurrentPrincipal, CurrentProject } from "./Principal.ts"
import type { VoiceErrorLike } from "./VoiceError.ts"

/**
 * Handlers of one API group. `HttpApi` is the contract (types, OpenAPI, client); the server compiles it together with
 * these handlers into one flat function per route, which costs a third of the stock builder per request.
 */

/** The request as a handler sees it: only the parts that the endpoint declares, decoded. */
export type HandlerRequest<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = Omit<
  HttpApiEndpoint.HttpApiEndpoint.Request<E>,
  "request"
>

/** Request services that every handler may ask for. */
export type RequestServices = CurrentPrincipal | CurrentProject

/** One handler: returns the response body as it goes over the wire; fails with the API's errors only. */
export type Handler<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = (
  request: HandlerRequest<E>
) => Effect.Effect<HttpApiEndpoint.HttpApiEndpoint.Success<E>, VoiceErrorLike, RequestServices>

type EndpointsOf<A, N extends string> =
  A extends HttpApi.HttpApi<string, infer G, infer _E, infer _R>
    ? HttpApiGroup.HttpApiGroup.EndpointsWithName<G, N>
    : never

/** All handlers of a group, by endpoint name; a missing one is a type error. */
export type GroupHandlers<A, N extends string> = {
  readonly [M in HttpApiEndpoint.HttpApiEndpoint.Name<EndpointsOf<A, N>>]: Handler<
    HttpApiEndpoint.HttpApiEndpoint.WithName<EndpointsOf<A, N>, M>
  >
}

/** A handler whose request type is not known any more: the dispatcher has decoded the request by the endpoint's schemas. */
export type AnyHandler = (request: never) => Effect.Effect<unknown, VoiceErrorLike, RequestServices>

/** A group's handlers as the server's dispatcher takes them. */
export interface RegisteredGroup {
  readonly group: string
  readonly handlers: { readonly [endpoint: string]: AnyHandler }
}

/** Collects the groups that the composition root merges; the dispatcher reads it once when the server starts. */
export class HandlerRegistry extends Context.Tag("@svc/api/HandlerRegistry")<
  HandlerRegistry,
  {
    readonly add: (group: RegisteredGroup) => Effect.Effect<void>
    readonly all: Effect.Effect<ReadonlyArray<RegisteredGroup>>
  }
>() {
  static readonly layer: Layer.Layer<HandlerRegistry> = Layer.sync(HandlerRegistry, () => {
    const groups: Array<RegisteredGroup> = []
    return {
      add: (group) => Effect.sync(() => void groups.push(group)),
      all: Effect.sync(() => groups)
    }
  })
}

/**
 * The layer that registers a group's handlers. What they need is taken once, in `build`; per request they may ask
 * only for {@link RequestServices}.
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
