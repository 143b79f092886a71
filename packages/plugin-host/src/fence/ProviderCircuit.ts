import type { Health } from "@svc/providers/Health"
import { Cause, type Clock, Effect, Exit } from "effect"
import { type PluginLogs, pluginLogs } from "../host/PluginHost.ts"
import { admit, type CircuitBreaker, initial, type Outcome, settle, threshold } from "./CircuitBreaker.ts"
import { fencedHealth } from "./HealthCheck.ts"
import type { TypedError } from "./IsolatedFiber.ts"

/** The circuit breaker of one provider. Synchronous, because callbacks on the media path report to it. */
export interface ProviderCircuit {
  /** Whether a call may be made now. Each admitted call must be settled. */
  readonly admit: () => boolean
  readonly settle: (outcome: Outcome) => void
  /** Why calls are refused, for the typed error. */
  readonly refusal: () => string
  /** The provider's own health while the circuit is closed, else unhealthy. Never fails or hangs. */
  readonly health: (own: Effect.Effect<Health>) => Effect.Effect<Health>
  readonly now: () => number
  /** Marks what an effect of the provider logs with the plugin's name. */
  readonly logs: PluginLogs
}

/** A closed circuit. */
export const makeCircuit: Effect.Effect<ProviderCircuit> = Effect.zipWith(
  Effect.clock,
  pluginLogs,
  (clock: Clock.Clock, logs): ProviderCircuit => {
    let state: CircuitBreaker = initial
    const now = () => clock.unsafeCurrentTimeMillis()
    const open = () =>
      state._tag !== "Closed" && state.silences > 0
        ? "circuit breaker open because it did not respond"
        : `circuit breaker open after ${threshold} consecutive failures`
    const refusal = () => `${open()}; last failure: ${state.reason}`
    return {
      now,
      logs,
      refusal,
      admit: () => {
        const [next, admitted] = admit(state, now())
        state = next
        return admitted
      },
      settle: (outcome) => {
        state = settle(state, outcome, now())
      },
      health: (own) =>
        Effect.suspend(() =>
          // Without the last failure, which may be a plugin's exception: whoever asks `/readyz` has no key.
          state._tag === "Closed" ? fencedHealth(own) : Effect.succeed<Health>({ healthy: false, reason: open() })
        )
    }
  }
)

/** A typed error of a provider. */
export interface ProviderError extends TypedError {
  readonly retryable: boolean
}

/**
 * The outcome of a call that failed. An error that is not retryable is the fault of the request, not of the provider.
 */
export const outcomeOfError = (error: ProviderError): Outcome =>
  error.retryable ? { _tag: "Failed", reason: error.reason } : { _tag: "Answered" }

const outcomeOf = <A, E extends ProviderError>(exit: Exit.Exit<A, E>, silence: string | undefined): Outcome => {
  if (Exit.isSuccess(exit)) return { _tag: "Succeeded" }
  if (silence !== undefined) return { _tag: "Silent", reason: silence }
  const error = Cause.failureOption(exit.cause)
  return error._tag === "Some" ? outcomeOfError(error.value) : { _tag: "Abandoned" }
}

/**
 * Makes a call if the circuit admits it, and settles it. Otherwise fails at once with `onRefusal(reason)`. `silence`: asked
 * when the call has failed or was interrupted; a text says that the provider did nothing for too long.
 */
export const throughCircuit =
  <E extends ProviderError>(
    circuit: ProviderCircuit,
    onRefusal: (reason: string) => E,
    silence: () => string | undefined = () => undefined
  ) =>
  <A, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() =>
      circuit.admit()
        ? Effect.onExit(call, (exit) => Effect.sync(() => circuit.settle(outcomeOf(exit, silence()))))
        : Effect.fail(onRefusal(circuit.refusal()))
    )
