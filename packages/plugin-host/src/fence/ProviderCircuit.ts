import type { Health } from "@svc/providers/Health"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Cause, Context, Effect, Exit } from "effect"
import { currentPlugin, type PluginLogs, pluginLogs } from "../host/PluginHost.ts"
import { admit, type CircuitBreaker, initial, type Outcome, settle, threshold } from "./CircuitBreaker.ts"
import { fencedHealth } from "./HealthCheck.ts"
import type { TypedError } from "./IsolatedFiber.ts"
import { type ProviderCapability, providerMetrics } from "./ProviderMetrics.ts"

/**
 * Whether another provider of the same kind is loaded. Only then a silent provider is not asked for some time: calls that
 * have no other one are better off with a slow provider than with none.
 */
export class HasAlternative extends Context.Reference<HasAlternative>()("@svc/plugin-host/HasAlternative", {
  defaultValue: () => false
}) {}

/** The circuit breaker of one provider. Synchronous, because callbacks on the media path report to it. */
export interface ProviderCircuit {
  /** Whether a call may be made now. Each admitted call must be settled. */
  readonly admit: () => boolean
  readonly settle: (outcome: Outcome) => void
  /** Why calls are refused, for the typed error. */
  readonly refusal: () => string
  /** The provider's own health while the circuit is closed, else unhealthy. Never fails or hangs. */
  readonly health: (own: Effect.Effect<Health>) => Effect.Effect<Health>
  /** Milliseconds, by a clock that no change of the system's time moves. */
  readonly now: () => number
  /** Whether one silent call opens the circuit. */
  readonly opensForSilence: boolean
  /** Counts how long a request took, in milliseconds. */
  readonly onDuration: (ms: number) => void
  /** Marks what an effect of the provider logs with the plugin's name. */
  readonly logs: PluginLogs
}

/** A closed circuit of a provider of the plugin of this fiber. What passes through it is counted. */
export const makeCircuit = (capability: ProviderCapability): Effect.Effect<ProviderCircuit> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const logs = yield* pluginLogs
    const opensForSilence = yield* HasAlternative
    const metrics = providerMetrics(yield* currentPlugin, capability)
    let state: CircuitBreaker = initial
    const become = (next: CircuitBreaker): void => {
      if (next._tag !== state._tag) metrics.onState(next._tag)
      state = next
    }
    const now = () => monotonicMillis(clock)
    const open = () =>
      state._tag !== "Closed" && state.silences > 0
        ? "circuit breaker open because it did not respond"
        : `circuit breaker open after ${threshold} consecutive failures`
    const refusal = () => `${open()}; last failure: ${state.reason}`
    return {
      now,
      opensForSilence,
      logs,
      onDuration: metrics.onDuration,
      refusal,
      admit: () => {
        const [next, admitted] = admit(state, now())
        become(next)
        if (admitted) metrics.onRequest()
        else metrics.onRefusal()
        return admitted
      },
      settle: (outcome) => {
        if (outcome._tag === "Failed" || outcome._tag === "Silent") metrics.onError()
        become(settle(state, outcome, now()))
      },
      health: (own) =>
        Effect.suspend(() =>
          // Without the last failure, which may be a plugin's exception: whoever asks `/readyz` has no key.
          state._tag === "Closed" ? fencedHealth(own) : Effect.succeed<Health>({ healthy: false, reason: open() })
        )
    }
  })

/** A typed error of a provider. */
export interface ProviderError extends TypedError {
  readonly retryable: boolean
}

/**
 * The outcome of a call that failed. An error that is not retryable is the fault of the request, not of the provider.
 */
export const outcomeOfError = (error: ProviderError): Outcome =>
  error.retryable ? { _tag: "Failed", reason: error.reason } : { _tag: "Answered" }

/** The outcome of a call that has ended. `silence`: the provider did nothing for too long. */
export const outcomeOf = <A, E extends ProviderError>(exit: Exit.Exit<A, E>, silence?: string): Outcome => {
  if (Exit.isSuccess(exit)) return { _tag: "Succeeded" }
  if (silence !== undefined) return { _tag: "Silent", reason: silence }
  const error = Cause.failureOption(exit.cause)
  return error._tag === "Some" ? outcomeOfError(error.value) : { _tag: "Abandoned" }
}

/** Makes a call if the circuit admits it, and settles it. Otherwise fails at once with `onRefusal(reason)`. */
export const throughCircuit =
  <E extends ProviderError>(circuit: ProviderCircuit, onRefusal: (reason: string) => E) =>
  <A, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      if (!circuit.admit()) return Effect.fail(onRefusal(circuit.refusal()))
      const from = circuit.now()
      return Effect.onExit(call, (exit) =>
        Effect.sync(() => {
          circuit.settle(outcomeOf(exit))
          circuit.onDuration(circuit.now() - from)
        })
      )
    })
