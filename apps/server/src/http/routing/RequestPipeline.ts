import type { HttpApi } from "@effect/platform"
import type { ApiError } from "@svc/api/ApiError"
import type { Context, Effect } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"
import * as RequestBody from "../exchange/RequestBody.ts"
import type { Endpoint } from "./Endpoint.ts"
import type { PathParams } from "./RouteTable.ts"

/** One request on its way to its endpoint. */
export interface Incoming {
  readonly exchange: Exchange
  readonly params: PathParams
  /** The query without its question mark. */
  readonly search: string
}

/** What a request comes to, before it is text. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Decodes a request whose body has been read and runs its handler, with the services added that it may ask for. */
export type Handle<Services> = (
  payload: unknown,
  services: (known: Context.Context<never>) => Context.Context<Services>
) => Effect.Effect<unknown, ApiError>

/** What an API does its own way around all its handlers: who is let in, in which order things are checked, envelopes. */
export interface RequestPipeline<Services> {
  readonly api: HttpApi.HttpApi.Any
  /** What stands before the paths of the contract; empty, or with a slash at its start. */
  readonly prefix: string
  /** Serves an endpoint: `handle` is called at most once per request, for who may. */
  readonly serve: (
    endpoint: Endpoint
  ) => (incoming: Incoming, handle: Handle<Services>) => Effect.Effect<Answer, ApiError>
}

/** The body of a request whose endpoint takes one; of others only what they declare is checked. */
export const readBody = ({ takesBody }: Endpoint, { exchange }: Incoming): Effect.Effect<unknown, ApiError> =>
  takesBody ? RequestBody.json(exchange) : RequestBody.checkDeclared(exchange)
