import type { Health } from "@svc/providers/Health"
import type { Route } from "@svc/providers/Route"
import {
  BridgeFailed,
  CallGone,
  type CallLeg,
  DialFailed,
  type DialProgress,
  type IncomingCall,
  type Outbound,
  type Telephony
} from "@svc/providers/Telephony"
import { Cause, type Context, Duration, Effect, Option, Runtime, Stream } from "effect"
import { errorSummary, plainError } from "../ErrorSummary.ts"
import { type PluginLogs, pluginLogs } from "../host/PluginHost.ts"
import { fencedNumbers, fencedRegulatory } from "./FencedCarrier.ts"
import { fencedLeg, originalOf } from "./FencedLeg.ts"
import { fencedMessaging } from "./FencedMessaging.ts"
import { fencedRoute, type LogFault } from "./FencedRoute.ts"
import { checkDeadline, fencedHealth } from "./HealthCheck.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { is, problemOf } from "./Shapes.ts"
import { callLeg, dialOutcome, earlyMedia, incomingCall, route } from "./TelephonyShapes.ts"

type Service = Context.Tag.Service<Telephony>

/** What a fenced call knows of its network. */
type Network = Pick<Service, "id" | "capabilities">

/** How long a network may take to connect a call after `answer`. */
export const answerDeadline = Duration.seconds(10)
/** How long a network may take to join two legs. */
export const bridgeDeadline = Duration.seconds(10)
/** How long `dial` may take when the engine does not interrupt it sooner. */
export const dialDeadline = Duration.seconds(150)
/** Runs a synchronous call into a plugin. A throw is only logged. */
type Attempt = (what: string, call: () => void) => void

const attemptOf =
  (id: string, log: LogFault, callId?: () => string | undefined): Attempt =>
  (what, call) => {
    try {
      call()
    } catch (defect) {
      log(`telephony ${id}: ${what} failed: ${errorSummary(defect)}`, defect, callId?.())
    }
  }

const lateHangup =
  (attempt: Attempt) =>
  (leg: CallLeg): void =>
    attempt("the hang-up of a call that was answered too late", () => leg.hangup("answered too late"))

/** The fenced leg of a call, or the error that `failed` makes of what is wrong with it. */
const checkedLeg =
  <E>({ capabilities, id }: Network, attempt: Attempt, failed: (reason: string) => E) =>
  (leg: CallLeg): Effect.Effect<CallLeg, E> => {
    const problem = problemOf(callLeg, leg)
    if (problem === undefined) return Effect.succeed(fencedLeg(id, capabilities.playbackMarks)(leg))
    attempt("the hang-up of an invalid call leg", () => leg?.hangup?.("internal error"))
    return Effect.fail(failed(`connected something invalid: ${problem}`))
  }

const fencedIncomingCall = (network: Network, call: IncomingCall, log: LogFault, logs: PluginLogs): IncomingCall => {
  const { id } = network
  let known: string | undefined
  const attempt = attemptOf(id, log, () => known)
  const failed = (reason: string) => new CallGone({ reason: `${id}: ${reason}`, failed: true })
  return {
    id: call.id,
    from: call.from,
    to: call.to,
    headers: call.headers,
    ...(call.link === undefined ? {} : { link: call.link }),
    ...(call.callerName === undefined ? {} : { callerName: call.callerName }),
    ringing: (callId) => {
      known = callId
      attempt("ringing", () => call.ringing(callId))
    },
    reject: (cause, reason) => attempt("reject", () => call.reject(cause, reason)),
    answer: (options) =>
      runIsolated(
        () => logs(call.answer(options)),
        failed,
        // Connected after the deadline or the interruption.
        lateHangup(attempt)
      ).pipe(
        Effect.timeoutFail({
          duration: answerDeadline,
          onTimeout: () => failed(`did not connect within ${Duration.format(answerDeadline)}`)
        }),
        Effect.flatMap(checkedLeg(network, attempt, failed))
      ),
    canceled: Effect.suspend(() => call.canceled).pipe(
      Effect.catchAllDefect((defect) =>
        Effect.logWarning(`telephony ${id}: ${errorSummary(defect)}`).pipe(Effect.zipRight(Effect.never))
      )
    )
  }
}

/**
 * What a network gets to report the progress of a call with. Nothing passes after `end`. An invalid id or early media is
 * dropped, each with one line in the log: the call does not need it.
 */
const fencedProgress = (id: string, progress: DialProgress, log: (message: string) => void) => {
  let live = true
  const logged = new Set<string>()
  const dropped = (what: string, problem: string): void => {
    if (!logged.has(what)) log(`telephony ${id}: ${what} is dropped: ${problem}`)
    logged.add(what)
  }
  const fenced: DialProgress = {
    onPlaced: (carrierCallId) => {
      if (!live) return
      const problem = is("it", "string", carrierCallId)
      if (problem === undefined) return progress.onPlaced?.(carrierCallId)
      dropped("the carrier's id of a call", problem)
    },
    onRinging: () => {
      if (live) progress.onRinging?.()
    },
    onEarlyMedia: (payload, format) => {
      if (!live) return
      const problem = problemOf(earlyMedia, { payload, format })
      if (problem === undefined) return progress.onEarlyMedia?.(payload, format)
      dropped("early media", problem)
    }
  }
  return {
    fenced,
    end: () => {
      live = false
    }
  }
}

const fencedOutbound = (network: Network, outbound: Outbound, log: LogFault, logs: PluginLogs): Outbound => {
  const { id } = network
  const failed = (reason: string) => new DialFailed({ outcome: "failed", reason: `${id}: ${reason}` })
  return {
    dial: (call, progress) => {
      const attempt = attemptOf(id, log, () => call.callId)
      const { end, fenced } = fencedProgress(id, progress ?? {}, (message) => log(message, undefined, call.callId))
      return runIsolated(
        () => logs(outbound.dial(call, fenced)),
        failed,
        // Answered after the deadline or the interruption.
        lateHangup(attempt)
      ).pipe(
        Effect.timeoutFail({
          duration: dialDeadline,
          onTimeout: () => failed(`did not report the outcome of a call within ${Duration.format(dialDeadline)}`)
        }),
        Effect.mapError((error) => {
          const problem = problemOf(dialOutcome, error.outcome)
          return problem === undefined ? error : failed(`${error.reason} (${problem})`)
        }),
        Effect.flatMap(checkedLeg(network, attempt, failed)),
        Effect.ensuring(Effect.sync(end))
      )
    }
  }
}

const fencedBridge =
  (id: string, bridge: NonNullable<Service["bridge"]>): NonNullable<Service["bridge"]> =>
  (one, other) => {
    const failed = (reason: string) => new BridgeFailed({ reason: `${id}: ${reason}` })
    return runIsolated(() => bridge(originalOf(one), originalOf(other)), failed).pipe(
      Effect.timeoutFail({
        duration: bridgeDeadline,
        onTimeout: () => failed(`did not join two calls within ${Duration.format(bridgeDeadline)}`)
      })
    )
  }

/** The route. An invalid one is a defect of the plugin, which prevents the start. */
const validRoute = (given: Route): Route => {
  const problem = problemOf(route, given)
  if (problem !== undefined) throw new Error(problem)
  return given
}

/**
 * A fenced telephone network: a throw, a defect or a hang ends at most the call. There is no circuit breaker, because
 * incoming calls are started by the network.
 */
export const fencedTelephony = (telephony: Service): Effect.Effect<Service> =>
  Effect.zipWith(Effect.runtime<never>(), pluginLogs, (runtime, logs) => {
    const { id } = telephony
    const log: LogFault = (message, thrown, callId) => {
      const line =
        thrown === undefined ? Effect.logError(message) : Effect.logError(message, Cause.die(plainError(thrown)))
      Runtime.runFork(runtime)(callId === undefined ? line : Effect.annotateLogs(line, "call_id", callId))
    }
    const attempt = attemptOf(id, log)
    let stopped: Health | undefined

    return {
      id,
      capabilities: telephony.capabilities,
      health: Effect.suspend(() =>
        stopped === undefined ? fencedHealth(Effect.suspend(() => telephony.health)) : Effect.succeed(stopped)
      ),
      ...(telephony.check === undefined ? {} : { check: fencedHealth(telephony.check, checkDeadline) }),
      incoming: telephony.incoming.pipe(
        Stream.filterMap((call) => {
          const problem = problemOf(incomingCall, call)
          if (problem === undefined) return Option.some(fencedIncomingCall(telephony, call, log, logs))
          log(`telephony ${id}: a call that came in is rejected: ${problem}`)
          attempt("reject of an invalid call", () => call?.reject?.("unavailable", "internal error"))
          return Option.none()
        }),
        Stream.catchAllCause((cause) => {
          if (Cause.isInterruptedOnly(cause)) return Stream.failCause(cause)
          const reason = `stopped accepting calls: ${errorSummary(Cause.squash(cause))}`
          stopped = { healthy: false, reason }
          return Stream.fromEffect(Effect.logError(`telephony ${id}: ${reason}`)).pipe(Stream.drain)
        })
      ),
      ...(telephony.sms === undefined ? {} : { sms: fencedMessaging(id, telephony.sms, log, logs) }),
      ...(telephony.outbound === undefined
        ? {}
        : { outbound: fencedOutbound(telephony, telephony.outbound, log, logs) }),
      ...(telephony.bridge && { bridge: fencedBridge(id, telephony.bridge) }),
      ...(telephony.numbers === undefined ? {} : { numbers: fencedNumbers(id, telephony.numbers) }),
      ...(telephony.regulatory === undefined ? {} : { regulatory: fencedRegulatory(id, telephony.regulatory) }),
      routes: telephony.routes.map((given) => fencedRoute(id, validRoute(given), log, logs))
    }
  })
