import { Deferred, Effect, FiberId } from "effect"
import { idleTimeout } from "./IdleTimeout.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { type ProviderCircuit, type ProviderError, throughCircuit } from "./ProviderCircuit.ts"

/** The state of a running request, which the callbacks given to the provider read and update. */
export interface RequestState {
  /** Whether the request is running. Callbacks do nothing afterwards. */
  live: boolean
  /** The time of the last activity, or null while the provider waits for us. */
  lastActivity: number | null
  /** Ends the request as failed: the provider did what its contract forbids. */
  readonly abort: (reason: string) => void
}

/** Runs one request to a provider: isolated, with an idle timeout, through the circuit breaker. */
export const fencedRequest = <E extends ProviderError>(
  circuit: ProviderCircuit,
  failed: (reason: string) => E,
  idle: { readonly ms: number; readonly reason: string },
  run: (state: RequestState) => Effect.Effect<void, E>
): Effect.Effect<void, E> =>
  Effect.suspend(() => {
    const aborted = Deferred.unsafeMake<void, E>(FiberId.none)
    const state: RequestState = {
      live: true,
      lastActivity: circuit.now(),
      abort: (reason) => {
        state.live = false
        Deferred.unsafeDone(aborted, Effect.fail(failed(reason)))
      }
    }
    return runIsolated(() => run(state), failed).pipe(
      // A provider that completes at once after the wrong value has failed too.
      Effect.zipRight(Effect.suspend(() => (state.live ? Effect.void : Deferred.await(aborted)))),
      Effect.raceFirst(Deferred.await(aborted)),
      Effect.raceFirst(
        idleTimeout(
          () => state.lastActivity,
          idle.ms,
          () => failed(`${idle.reason} for ${idle.ms / 1000} s`)
        )
      ),
      Effect.onExit(() =>
        Effect.sync(() => {
          state.live = false
        })
      ),
      throughCircuit(circuit, failed)
    )
  })
