import type { HttpApi } from "@effect/platform"
import type { AnyHandler, RegisteredGroup, RequestServices } from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject, type Principal } from "@svc/api/Principal"
import { InternalError, isVoiceError, Unavailable, type VoiceErrorLike } from "@svc/api/VoiceError"
import { Cause, Context, Data, Effect, Either, type Exit, type Fiber, FiberRef } from "effect"
import { isOutage } from "./DatabaseOutage.ts"
import { callable, type Endpoint, endpointsOf } from "./Endpoint.ts"
import type { Exchange } from "./Exchange.ts"
import * as RequestBody from "./RequestBody.ts"
import { promise, send, sendError, sendJson } from "./Responses.ts"
import type { PathParams } from "./RouteTable.ts"
import type { Security } from "./Security.ts"

/** Serves one request of a route. Answers the exchange sooner or later, and never throws. */
export type Serve = (exchange: Exchange, params: PathParams, search: string) => void

/** A route that answers requests. */
export interface ServedRoute {
  readonly method: string
  readonly path: string
  readonly serve: Serve
}

/** Starts a request's fiber, which ends with the server at the latest. */
export type RunRequest = <A>(effect: Effect.Effect<A, VoiceErrorLike>) => Fiber.RuntimeFiber<A, VoiceErrorLike>

/** The contract and the handlers do not fit together; a line for each thing that is wrong. */
export class ContractMismatch extends Data.TaggedError("ContractMismatch")<{ readonly message: string }> {}

export interface DispatcherOptions {
  readonly security: Context.Tag.Service<Security>
  readonly run: RunRequest
  /** Check each response against the contract (for tests; responses that we build ourselves are trusted otherwise). */
  readonly strict: boolean
}

/** A response that the contract does not allow; a fault of ours. */
class ResponseMismatch extends Data.TaggedError("ResponseMismatch")<{
  readonly endpoint: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `the response of ${this.endpoint} does not match its schema: ${this.cause}`
  }
}

/**
 * Runs the rest of a request's fiber with the services of the request. They are simply set, not provided: nothing of the
 * fiber comes after the request, so there is nothing to restore, which costs more than all other steps of a request.
 * Endpoints that do without a project must not ask for it: then it is missing, which is a defect.
 */
const withServices = <A, E>(principal: Principal, effect: Effect.Effect<A, E, RequestServices>): Effect.Effect<A, E> =>
  // Whoever runs this has what is set right before.
  // @effect-diagnostics-next-line unsafeEffectTypeAssertion:off
  Effect.zipRight(
    FiberRef.update(FiberRef.currentContext, (known) => {
      const services = Context.add(known, CurrentPrincipal, principal)
      return principal.project === null ? services : Context.add(services, CurrentProject, principal.project)
    }),
    effect
  ) as Effect.Effect<A, E>

/**
 * Answers a request that did not succeed. What is not an error of the API is a fault of ours: it is logged with the
 * request's id, and nobody else is told what it was. `what` names the route in the log.
 */
export const answerFailure = (
  exchange: Exchange,
  what: string,
  cause: Cause.Cause<VoiceErrorLike>,
  run: RunRequest
): void => {
  const failure = Cause.failureOption(cause)
  if (failure._tag === "Some" && isVoiceError(failure.value)) {
    sendError(exchange, failure.value)
  } else if (Cause.isInterruptedOnly(cause)) {
    sendError(exchange, new Unavailable())
  } else {
    const outage = isOutage(cause)
    const message = outage ? `${what}: the database cannot be reached` : `${what} failed`
    run(Effect.annotateLogs(Effect.logError(message, cause), { request_id: exchange.id }))
    sendError(exchange, outage ? new Unavailable() : new InternalError())
  }
}

const compile = (endpoint: Endpoint, anyHandler: AnyHandler, { run, security, strict }: DispatcherOptions): Serve => {
  const handler = callable(anyHandler)
  const isRead = endpoint.method === "GET"

  const encode = (body: unknown): Effect.Effect<string> => {
    // `undefined` has no JSON; the endpoint promises a body.
    const json = JSON.stringify(body) ?? "null"
    if (!strict) return Effect.succeed(json)
    const checked = endpoint.checkSuccess(JSON.parse(json))
    return Either.isRight(checked)
      ? Effect.succeed(json)
      : Effect.die(new ResponseMismatch({ endpoint: endpoint.name, cause: checked.left }))
  }

  const payloadOf = (exchange: Exchange): Effect.Effect<unknown, VoiceErrorLike> =>
    endpoint.takesBody
      ? Effect.flatMap(RequestBody.json(exchange), endpoint.decodeBody)
      : RequestBody.checkDeclared(exchange)

  const answer = (exchange: Exchange, exit: Exit.Exit<string, VoiceErrorLike>): void => {
    if (exit._tag === "Failure") answerFailure(exchange, endpoint.name, exit.cause, run)
    else if (endpoint.empty) send(exchange, endpoint.status, {}, undefined)
    else sendJson(exchange, endpoint.status, exit.value)
  }

  return (exchange, params, search) => {
    const { request, response } = exchange
    const credentials = { method: endpoint.method, headers: request.headers, address: exchange.address }
    const authorized = Effect.flatMap(security.authorize(credentials, endpoint.access), ({ headers, outcome }) => {
      promise(exchange, headers)
      return outcome
    })
    const program = Effect.flatMap(authorized, (principal) =>
      Effect.flatMap(endpoint.decode({ params, search, headers: request.headers }), (decoded) =>
        Effect.flatMap(payloadOf(exchange), (payload) =>
          Effect.flatMap(
            withServices(principal, handler(endpoint.takesBody ? { ...decoded, payload } : decoded)),
            (body) => (endpoint.empty ? Effect.succeed("") : encode(body))
          )
        )
      )
    )
    const fiber = run(program)
    fiber.addObserver((exit) => answer(exchange, exit))
    // Nobody waits for a read any more when the client has gone. A write that has begun is carried through.
    if (isRead) response.once("close", () => response.writableFinished || fiber.unsafeInterruptAsFork(fiber.id()))
  }
}

/**
 * The routes of a contract with the handlers that were registered for it, each compiled to one function. An endpoint
 * without a handler, a handler without an endpoint, or a group that was registered twice fails.
 */
export const routes = (
  api: HttpApi.HttpApi.Any,
  groups: ReadonlyArray<RegisteredGroup>,
  options: DispatcherOptions
): Effect.Effect<ReadonlyArray<ServedRoute>, ContractMismatch> => {
  const wrong: Array<string> = []
  const handlers = new Map<string, AnyHandler>()
  for (const { group, handlers: ofGroup } of groups) {
    for (const [key, handler] of Object.entries(ofGroup)) {
      const name = `${group}.${key}`
      if (handlers.has(name)) wrong.push(`the handler ${name} is registered twice`)
      handlers.set(name, handler)
    }
  }
  const served: Array<ServedRoute> = []
  for (const { endpoint, group, key } of endpointsOf(api)) {
    const name = `${group}.${key}`
    const handler = handlers.get(name)
    handlers.delete(name)
    if (Either.isLeft(endpoint)) wrong.push(endpoint.left)
    else if (handler === undefined) wrong.push(`the endpoint ${name} has no handler`)
    else {
      const { method, path } = endpoint.right
      served.push({ method, path, serve: compile(endpoint.right, handler, options) })
    }
  }
  for (const name of handlers.keys()) wrong.push(`the handler ${name} has no endpoint`)
  return wrong.length === 0 ? Effect.succeed(served) : Effect.fail(new ContractMismatch({ message: wrong.join("; ") }))
}
