import type { Health } from "@svc/providers/Health"
import type { Route, RouteResponse } from "@svc/providers/Route"
import { CallGone, DialFailed, type IncomingCall, type Outbound, type Telephony } from "@svc/providers/Telephony"
import { Cause, type Context, Duration, Effect, Stream } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import { fencedLeg } from "./FencedLeg.ts"
import { fencedMessaging } from "./FencedMessaging.ts"
import { fencedHealth } from "./HealthCheck.ts"
import { runIsolated } from "./IsolatedFiber.ts"

type Service = Context.Tag.Service<Telephony>

/** How long a network may take to connect a call after `answer`. */
export const answerDeadline = Duration.seconds(10)
/** How long `dial` may take when the engine does not interrupt it sooner. */
export const dialDeadline = Duration.seconds(150)
/** How long a plugin's HTTP route may take. */
export const routeDeadline = Duration.seconds(30)

/** Runs a synchronous call into a plugin. A throw only calls `onThrow`. */
const attempt = (call: () => void, onThrow: () => void = () => {}): void => {
  try {
    call()
  } catch {
    onThrow()
  }
}

const fencedIncomingCall = (id: string, call: IncomingCall): IncomingCall => ({
  id: call.id,
  from: call.from,
  to: call.to,
  headers: call.headers,
  ringing: (callId) => attempt(() => call.ringing(callId)),
  reject: (cause, reason) => attempt(() => call.reject(cause, reason)),
  answer: (options) =>
    runIsolated(
      () => call.answer(options),
      (reason) => new CallGone({ reason: `${id}: ${reason}` }),
      // Connected after the deadline or the interruption.
      (leg) => attempt(() => leg.hangup("answered too late"))
    ).pipe(
      Effect.timeoutFail({
        duration: answerDeadline,
        onTimeout: () => new CallGone({ reason: `${id}: did not connect within ${Duration.format(answerDeadline)}` })
      }),
      Effect.map(fencedLeg(id))
    ),
  canceled: Effect.suspend(() => call.canceled).pipe(
    Effect.catchAllDefect((defect) =>
      Effect.logWarning(`telephony ${id}: ${errorSummary(defect)}`).pipe(Effect.zipRight(Effect.never))
    )
  )
})

const fencedOutbound = (id: string, outbound: Outbound): Outbound => {
  const failed = (reason: string) => new DialFailed({ outcome: "failed", reason: `${id}: ${reason}` })
  return {
    dial: (call) =>
      runIsolated(
        () => outbound.dial(call),
        failed,
        // Answered after the deadline or the interruption.
        (leg) => attempt(() => leg.hangup("answered too late"))
      ).pipe(
        Effect.timeoutFail({
          duration: dialDeadline,
          onTimeout: () => failed(`did not report the outcome of a call within ${Duration.format(dialDeadline)}`)
        }),
        Effect.map(fencedLeg(id))
      )
  }
}

const fencedRoute = (id: string, route: Route): Route =>
  route._tag === "WebSocket"
    ? {
        _tag: "WebSocket",
        path: route.path,
        accept: (socket, request) =>
          attempt(
            () => route.accept(socket, request),
            () => socket.close(1011, "internal error")
          )
      }
    : {
        _tag: "Http",
        method: route.method,
        path: route.path,
        handle: (request) =>
          runIsolated<RouteResponse, string>(
            () => route.handle(request),
            (reason) => reason
          ).pipe(
            Effect.timeoutFail({
              duration: routeDeadline,
              onTimeout: () => `did not answer within ${Duration.format(routeDeadline)}`
            }),
            Effect.catchAll((reason) =>
              Effect.logError(`telephony ${id}: ${route.method} ${route.path}: ${reason}`).pipe(
                Effect.as({ status: 500 })
              )
            )
          )
      }

/**
 * A fenced telephone network: a throw, a defect or a hang ends at most the call. There is no circuit breaker, because
 * incoming calls are started by the network.
 */
export const fencedTelephony = (telephony: Service): Effect.Effect<Service> =>
  Effect.sync(() => {
    const { id } = telephony
    let stopped: Health | undefined

    return {
      id,
      capabilities: telephony.capabilities,
      health: Effect.suspend(() =>
        stopped === undefined ? fencedHealth(Effect.suspend(() => telephony.health)) : Effect.succeed(stopped)
      ),
      incoming: telephony.incoming.pipe(
        Stream.map((call) => fencedIncomingCall(id, call)),
        Stream.catchAllCause((cause) => {
          if (Cause.isInterruptedOnly(cause)) return Stream.failCause(cause)
          const reason = `stopped accepting calls: ${errorSummary(Cause.squash(cause))}`
          stopped = { healthy: false, reason }
          return Stream.fromEffect(Effect.logError(`telephony ${id}: ${reason}`)).pipe(Stream.drain)
        })
      ),
      ...(telephony.sms === undefined ? {} : { sms: fencedMessaging(id, telephony.sms) }),
      ...(telephony.outbound === undefined ? {} : { outbound: fencedOutbound(id, telephony.outbound) }),
      routes: telephony.routes.map((route) => fencedRoute(id, route))
    }
  })
