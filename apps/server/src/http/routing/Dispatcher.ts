import { type ApiError, isApiError } from "@svc/api/ApiError"
import { EventStreamOf, Streamed } from "@svc/api/EventStream"
import type { AnyHandler, RegisteredGroup } from "@svc/api/Handlers"
import { InternalError, ProjectNotFound, Unavailable } from "@svc/api/VoiceError"
import { Cause, Context, Data, Effect, Either, type Fiber, FiberRef, Option } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"
import { withRequestId } from "../exchange/Exchange.ts"
import { contained, send, sendError, sendJson } from "../exchange/Responses.ts"
import { isDeletedProject, isOutage } from "./DatabaseFaults.ts"
import { callable, type Endpoint, endpointsOf } from "./Endpoint.ts"
import type { Answer, Handle, Incoming, RequestPipeline } from "./RequestPipeline.ts"
import type { PathParams } from "./RouteTable.ts"

/** Serves one request of a route. Answers the exchange eventually, and never throws. */
export type Serve = (exchange: Exchange, params: PathParams, search: string) => void

/** A route that answers requests. */
export interface ServedRoute {
  readonly method: string
  readonly path: string
  readonly serve: Serve
}

/** Starts a request's fiber, which ends with the server at the latest. */
export type RunRequest = <A>(effect: Effect.Effect<A, ApiError>) => Fiber.RuntimeFiber<A, ApiError>

/** The contract and the handlers do not match; a line for each problem. */
export class ContractMismatch extends Data.TaggedError("ContractMismatch")<{ readonly message: string }> {}

export interface DispatcherOptions {
  readonly run: RunRequest
  /** Check each response against the contract (for tests; responses that we build ourselves are trusted otherwise). */
  readonly strict: boolean
}

/** Routes that are made when the server starts. */
export type ServedRoutes<R> = (
  options: DispatcherOptions
) => Effect.Effect<ReadonlyArray<ServedRoute>, ContractMismatch, R>

/** A response that the contract does not allow: a defect. */
class ResponseMismatch extends Data.TaggedError("ResponseMismatch")<{
  readonly endpoint: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `the response of ${this.endpoint} does not match its schema: ${this.cause}`
  }
}

/**
 * Runs the rest of a request's fiber with the services of the request. They are set, not provided: nothing after the
 * handler in this fiber uses them, and restoring the previous ones costs more than all other steps of a request.
 */
const withServices = <Services, A, E>(
  services: (known: Context.Context<never>) => Context.Context<Services>,
  effect: Effect.Effect<A, E, Services>
): Effect.Effect<A, E> =>
  // The services are set right before.
  // @effect-diagnostics-next-line unsafeEffectTypeAssertion:off
  Effect.zipRight(FiberRef.update(FiberRef.currentContext, services), effect) as Effect.Effect<A, E>

/**
 * Answers a failed request. A failure that is not an API error is a defect: it is logged with the request's id, and
 * its details are not sent, unless the database refused an insert into a deleted project: that is a 404. `routeName` is
 * for the log.
 */
export const answerFailure = (
  exchange: Exchange,
  routeName: string,
  cause: Cause.Cause<ApiError>,
  run: RunRequest
): void => {
  const failure = Cause.failureOption(cause)
  if (failure._tag === "Some" && isApiError(failure.value)) {
    sendError(exchange, failure.value)
  } else if (Cause.isInterruptedOnly(cause)) {
    sendError(exchange, new Unavailable())
  } else if (isDeletedProject(cause)) {
    sendError(exchange, new ProjectNotFound())
  } else {
    const outage = isOutage(cause)
    const message = outage ? `${routeName}: the database cannot be reached` : `${routeName} failed`
    run(Effect.annotateLogs(Effect.logError(message, cause), { request_id: exchange.id }))
    sendError(exchange, outage ? new Unavailable() : new InternalError())
  }
}

const compile = <Services>(
  pipeline: RequestPipeline<Services>,
  endpoint: Endpoint,
  anyHandler: AnyHandler<Services>,
  { run, strict }: DispatcherOptions
): Serve => {
  const handler = callable(anyHandler)
  const answerOf = pipeline.serve(endpoint)
  const stopsWithClient =
    endpoint.method === "GET" || Option.isSome(Context.getOption(endpoint.annotations, EventStreamOf))

  const faultOf = pipeline.bodyFaults?.[endpoint.name]
  const decodeBody = (body: unknown): Either.Either<unknown, ApiError> => {
    const decoded = endpoint.decodeBody(body)
    return faultOf === undefined ? decoded : Either.mapLeft(decoded, (refused) => faultOf(body, refused))
  }

  const handle =
    ({ exchange, params, search }: Incoming): Handle<Services> =>
    (payload, services) =>
      Effect.flatMap(endpoint.decode({ params, search, headers: exchange.request.headers }), (decoded) =>
        endpoint.takesBody
          ? Effect.flatMap(decodeBody(payload), (body) =>
              withServices(services, handler({ ...decoded, payload: body }))
            )
          : withServices(services, handler(decoded))
      )

  const encode = ({ body, status }: Answer): Effect.Effect<string> => {
    if (endpoint.empty || body instanceof Streamed) return Effect.succeed("")
    // `undefined` has no JSON; the endpoint declares a body.
    const json = JSON.stringify(body) ?? "null"
    if (!strict || status !== endpoint.status) return Effect.succeed(json)
    const checked = endpoint.checkSuccess(JSON.parse(json))
    return Either.isRight(checked)
      ? Effect.succeed(json)
      : Effect.die(new ResponseMismatch({ endpoint: endpoint.name, cause: checked.left }))
  }

  return (exchange, params, search) => {
    const { response } = exchange
    const incoming = { exchange, params, search }
    let status = endpoint.status
    let sent = false
    const answering = Effect.flatMap(answerOf(incoming, handle(incoming)), (answer) => {
      status = answer.status
      sent = answer.body instanceof Streamed
      return encode(answer)
    })
    const fiber = run(withRequestId(exchange, answering))
    fiber.addObserver((exit) =>
      contained(exchange, () => {
        if (exit._tag === "Failure") answerFailure(exchange, endpoint.name, exit.cause, run)
        else if (sent) return
        else if (endpoint.empty) send(exchange, status, {}, undefined)
        else sendJson(exchange, status, exit.value)
      })
    )
    // When the client disconnects, a read or a stream is interrupted; a write runs to completion.
    if (stopsWithClient)
      response.once("close", () => response.writableFinished || fiber.unsafeInterruptAsFork(fiber.id()))
  }
}

/**
 * The routes of an API with the handlers that were registered for it, each compiled to one function. An endpoint
 * without a handler, a handler without an endpoint, or a group that was registered twice fails.
 */
export const routes = <Services>(
  pipeline: RequestPipeline<Services>,
  groups: ReadonlyArray<RegisteredGroup<Services>>,
  options: DispatcherOptions
): Effect.Effect<ReadonlyArray<ServedRoute>, ContractMismatch> => {
  const problems: Array<string> = []
  const handlers = new Map<string, AnyHandler<Services>>()
  for (const { group, handlers: ofGroup } of groups) {
    for (const [key, handler] of Object.entries(ofGroup)) {
      const name = `${group}.${key}`
      if (handlers.has(name)) problems.push(`the handler ${name} is registered twice`)
      handlers.set(name, handler)
    }
  }
  const served: Array<ServedRoute> = []
  for (const { endpoint, group, key } of endpointsOf(pipeline.api)) {
    const name = `${group}.${key}`
    const handler = handlers.get(name)
    handlers.delete(name)
    if (Either.isLeft(endpoint)) problems.push(endpoint.left)
    else if (handler === undefined) problems.push(`the endpoint ${name} has no handler`)
    else {
      const { method, path } = endpoint.right
      served.push({ method, path: pipeline.prefix + path, serve: compile(pipeline, endpoint.right, handler, options) })
    }
  }
  for (const name of handlers.keys()) problems.push(`the handler ${name} has no endpoint`)
  return problems.length === 0
    ? Effect.succeed(served)
    : Effect.fail(new ContractMismatch({ message: problems.join("; ") }))
}
