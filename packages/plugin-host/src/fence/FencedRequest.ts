import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import { Effect } from "effect"
import { settled } from "./IsolatedFiber.ts"
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

/** How long a request has done nothing when it counts as silent; the engine gives up after 10 s. */
export const silentMs = 9000

/**
 * Runs one request to a provider: isolated, with an idle timeout, through the circuit breaker. The provider has a fiber
 * of its own. The request waits for it or the timeout, without a race, whose fibers and copies cost more than all else
 * here.
 */
export const fencedRequest = <E extends ProviderError>(
  circuit: ProviderCircuit,
  failed: (reason: string) => E,
  idle: { readonly timeout: SharedTimeout; readonly reason: string },
  run: (state: RequestState) => Effect.Effect<void, E>
): Effect.Effect<void, E> => {
  let running: RequestState | undefined
  const silence = (): string | undefined => {
    const since = running?.lastActivity ?? circuit.now()
    const ms = circuit.now() - since
    return ms < silentMs ? undefined : `${idle.reason} for ${Math.round(ms / 1000)} s`
  }
  return Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      let aborted: E | undefined
      let end: (outcome: Effect.Effect<void, E>) => void = () => {}
      const state: RequestState = {
        live: true,
        lastActivity: circuit.now(),
        abort: (reason) => {
          state.live = false
          aborted = failed(reason)
          end(Effect.fail(aborted))
        }
      }
      running = state
      const self = yield* Effect.fiberId
      const provider = yield* Effect.forkDaemon(Effect.interruptible(circuit.logs(Effect.suspend(() => run(state)))))
      let stopWatching = () => {}
      const ended = Effect.async<void, E>((resume) => {
        end = resume
        provider.addObserver((exit) => resume(settled(exit, failed)))
        stopWatching = idle.timeout.watch(
          () => state.lastActivity,
          () => resume(Effect.fail(failed(`${idle.reason} for ${idle.timeout.ms / 1000} s`)))
        )
        if (aborted !== undefined) resume(Effect.fail(aborted))
      })
      return yield* Effect.ensuring(
        restore(ended),
        Effect.sync(() => {
          state.live = false
          stopWatching()
          // Not waited for: a provider may take its time to stop.
          provider.unsafeInterruptAsFork(self)
        })
      ).pipe(
        // A provider that completes at once after the wrong value has failed too.
        Effect.zipRight(Effect.suspend(() => (aborted === undefined ? Effect.void : Effect.fail(aborted))))
      )
    })
  ).pipe(throughCircuit(circuit, failed, silence))
}
