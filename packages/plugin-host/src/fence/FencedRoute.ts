import type { Route, RouteRequest, RouteResponse, RouteSocket } from "@svc/providers/Route"
import { Cause, Data, Duration, Effect } from "effect"
import { errorSummary, plainError } from "../ErrorSummary.ts"
import type { PluginLogs } from "../host/PluginHost.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { kindOf, problemOf } from "./Shapes.ts"
import { routeResponse } from "./TelephonyShapes.ts"

/** How long a plugin's HTTP route may take. */
export const routeDeadline = Duration.seconds(30)

/**
 * A plugin's route gave no response that can be sent. It is a defect: the server logs it and answers 500. `cause` has the
 * stack of what the plugin threw.
 */
export class RouteFailed extends Data.TaggedError("RouteFailed")<{
  readonly route: string
  readonly reason: string
  readonly cause?: Error
}> {
  override get message(): string {
    return `${this.route}: ${this.reason}`
  }
}

type SocketRoute = Extract<Route, { readonly _tag: "WebSocket" }>

/**
 * Logs a fault of the plugin, from a synchronous callback; with the stack of what it has thrown, if it has, and the public
 * id of the call that it concerns, if it is known.
 */
export type LogFault = (message: string, thrown?: unknown, callId?: string) => void

/** Copies what was checked: what a plugin changes or computes later has no effect. The server adds the length. */
const copyOf = ({ body, headers = {}, status }: RouteResponse): RouteResponse => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length")),
  ...(body === undefined || body.length === 0 ? {} : { body })
})

/** The response, or why it cannot be sent. */
const checked = (response: RouteResponse): RouteResponse | string => {
  try {
    // Its fields are read once, for check and copy: they may be getters.
    const read = { ...response }
    return problemOf(routeResponse, response === undefined || response === null ? response : read) ?? copyOf(read)
  } catch (defect) {
    return `the response cannot be read: ${errorSummary(defect)}`
  }
}

/** Close codes that a program may send. See RFC 6455, 7.4, and the registry of WebSocket close codes. */
const isCloseCode = (code: unknown): boolean =>
  Number.isInteger(code) &&
  ((Number(code) >= 1000 && Number(code) <= 1014 && ![1004, 1005, 1006].includes(Number(code))) ||
    (Number(code) >= 3000 && Number(code) <= 4999))

/** Longest reason of a close, in bytes of UTF-8. See RFC 6455, 5.5. */
const maxReason = 123

const shortened = (reason: string): string => {
  let text = reason
  while (Buffer.byteLength(text) > maxReason) text = text.slice(0, -1)
  return text
}

/** A socket whose methods never throw into the plugin, and whose handlers never throw out of it. */
const fencedSocket = (name: string, socket: RouteSocket, log: LogFault): RouteSocket => {
  const fail = (reason: string, thrown?: unknown) => {
    log(`${name}: ${reason}; the socket is closed`, thrown)
    socket.close(1011, "internal error")
  }
  const handler = <A extends ReadonlyArray<unknown>>(what: string, given: (...args: A) => void) => {
    if (typeof given !== "function") fail(`${what} was given ${kindOf(given)} instead of a function`)
    return (...args: A) => {
      try {
        given(...args)
      } catch (defect) {
        fail(`the handler given to ${what} failed: ${errorSummary(defect)}`, defect)
      }
    }
  }
  return {
    send: (data) => {
      if (typeof data === "string" || data instanceof Uint8Array) socket.send(data)
      else fail(`send was given ${kindOf(data)} instead of a string or Uint8Array`)
    },
    bufferedBytes: () => socket.bufferedBytes(),
    close: (code, reason = "") => {
      if (code !== undefined && !isCloseCode(code)) return fail(`${String(code)} is not a code for close`)
      if (typeof reason !== "string") return fail(`the reason of close was ${kindOf(reason)} instead of a string`)
      // A reason needs a code.
      if (code === undefined) socket.close()
      else socket.close(code, shortened(reason))
    },
    onMessage: (given) => socket.onMessage(handler("onMessage", given)),
    onClose: (given) => socket.onClose(handler("onClose", given))
  }
}

/**
 * A fenced route of the telephony plugin `id`. An HTTP route that throws, dies, hangs or gives a response that cannot be
 * sent dies with {@link RouteFailed}, and a `refuse` that does throws it. A socket whose `accept` or handlers throw is closed.
 */
export const fencedRoute = (id: string, route: Route, log: LogFault, logs: PluginLogs = (effect) => effect): Route => {
  const method = route._tag === "Http" ? route.method : "WebSocket"
  const name = `telephony ${id}: ${method} ${route.path === "" ? "its mount point" : route.path}`
  const failed = (reason: string) => new RouteFailed({ route: name, reason })
  const crashed = (reason: string, defect: unknown) =>
    new RouteFailed({ route: name, reason, cause: plainError(defect) })
  const refusalOf = (refuse: NonNullable<SocketRoute["refuse"]>, request: RouteRequest) => {
    try {
      return refuse(request)
    } catch (defect) {
      throw crashed(`refuse crashed: ${errorSummary(defect)}`, defect)
    }
  }
  /** Runs an effect of the plugin. */
  const answered = <A extends RouteResponse | undefined>(run: () => Effect.Effect<A>) =>
    runIsolated(() => logs(run()), crashed).pipe(
      Effect.timeoutFail({
        duration: routeDeadline,
        onTimeout: () => failed(`did not answer within ${Duration.format(routeDeadline)}`)
      }),
      // An interruption, when the server stops, stays one.
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause) ? Effect.interrupt : Effect.die(Cause.squash(cause))
      )
    )
  const sendable = (response: RouteResponse): Effect.Effect<RouteResponse> => {
    const made = checked(response)
    return typeof made === "string" ? Effect.die(failed(made)) : Effect.succeed(made)
  }
  if (route._tag === "WebSocket") {
    const { admit, refuse } = route
    return {
      _tag: "WebSocket",
      path: route.path,
      ...(refuse === undefined
        ? {}
        : {
            refuse: (request) => {
              const refusal = refusalOf(refuse, request)
              if (refusal === undefined) return undefined
              const response = checked(refusal)
              if (typeof response === "string") throw failed(`refuse: ${response}`)
              return response
            }
          }),
      ...(admit === undefined
        ? {}
        : {
            admit: (request: RouteRequest): Effect.Effect<RouteResponse | undefined> =>
              Effect.flatMap(
                answered(() => admit(request)),
                (response) => (response === undefined ? Effect.succeed(response) : sendable(response))
              )
          }),
      accept: (socket, request) => {
        try {
          route.accept(fencedSocket(name, socket, log), request)
        } catch (defect) {
          log(`${name}: accept failed: ${errorSummary(defect)}; the socket is closed`, defect)
          socket.close(1011, "internal error")
        }
      }
    }
  }
  return {
    _tag: "Http",
    method: route.method,
    path: route.path,
    handle: (request) =>
      Effect.flatMap(
        answered(() => route.handle(request)),
        sendable
      )
  }
}
