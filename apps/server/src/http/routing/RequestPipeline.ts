import type { HttpApi } from "@effect/platform"
import type { ApiError } from "@svc/api/ApiError"
import type { ValidationError } from "@svc/api/VoiceError"
import type { Context, Effect } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"
import * as RequestBody from "../exchange/RequestBody.ts"
import type { Endpoint } from "./Endpoint.ts"
import type { PathParams } from "./RouteTable.ts"

/** A request that matched an endpoint. */
export interface Incoming {
  readonly exchange: Exchange
  readonly params: PathParams
  /** The query without its question mark. */
  readonly search: string
}

/** A response before it is encoded. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Decodes a request whose body has been read and runs its handler with the given services. */
export type Handle<Services> = (
  payload: unknown,
  services: (known: Context.Context<never>) => Context.Context<Services>
) => Effect.Effect<unknown, ApiError>

/** The error for a body, and what the schema says of it. */
export type BodyFault = (body: unknown, refused: ValidationError) => ApiError

/** What an API does around all its handlers: authentication, limits, the order of checks, envelopes. */
export interface RequestPipeline<Services> {
  readonly api: HttpApi.HttpApi.Any
  /** The prefix of the contract's paths; empty, or with a slash at its start. */
  readonly prefix: string
  /** Serves an endpoint: calls `handle` at most once per request, when all checks have passed. */
  readonly serve: (
    endpoint: Endpoint
  ) => (incoming: Incoming, handle: Handle<Services>) => Effect.Effect<Answer, ApiError>
  /** By endpoint (`agents.create`): the error for a body that its schema refuses, where that says more than the schema. */
  readonly bodyFaults?: Readonly<Record<string, BodyFault>>
}

/** Reads the body when the endpoint takes one; otherwise only checks the declared length. */
export const readBody = ({ takesBody }: Endpoint, { exchange }: Incoming): Effect.Effect<unknown, ApiError> =>
  takesBody ? RequestBody.json(exchange) : RequestBody.checkDeclared(exchange)
