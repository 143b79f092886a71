import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import { Effect, Exit, FiberId, Runtime } from "effect"
import { settled } from "./IsolatedFiber.ts"
import { outcomeOf, type ProviderCircuit, type ProviderError } from "./ProviderCircuit.ts"

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
 * Starts one request to a provider: isolated, with an idle timeout, through the circuit breaker. The provider has a fiber
 * of its own, which begins after this function has returned. `onEnd` is called once: before that when the circuit refuses
 * the request, otherwise at the provider's end, after the timeout, or when the result is called, which gives the request
 * up without waiting for the provider. Callbacks and no more fibers, because each operation of a fiber counts at hundreds
 * of turns per second.
 */
export const startRequest = <E extends ProviderError>(
  circuit: ProviderCircuit,
  failed: (reason: string) => E,
  idle: { readonly timeout: SharedTimeout; readonly reason: string },
  run: (state: RequestState) => Effect.Effect<void, E>,
  runtime: Runtime.Runtime<never>,
  onEnd: (exit: Exit.Exit<void, E>) => void
): (() => void) => {
  if (!circuit.admit()) {
    onEnd(Exit.fail(failed(circuit.refusal())))
    return () => {}
  }
  const from = circuit.now()
  let stop = () => {}
  /** That the provider was silent for too long, in words. */
  const silence = (): string | undefined => {
    const ms = circuit.now() - (state.lastActivity ?? circuit.now())
    return ms < silentMs ? undefined : `${idle.reason} for ${Math.round(ms / 1000)} s`
  }
  const end = (exit: Exit.Exit<void, E>): void => {
    if (!state.live) return
    state.live = false
    circuit.settle(outcomeOf(exit, circuit.opensForSilence ? silence() : undefined))
    circuit.onDuration(circuit.now() - from)
    stop()
    onEnd(exit)
  }
  const state: RequestState = {
    live: true,
    lastActivity: from,
    abort: (reason) => end(Exit.fail(failed(reason)))
  }
  const work = Effect.interruptible(circuit.logs(Effect.suspend(() => run(state))))
  const provider = Runtime.runFork(runtime)(work, { immediate: false })
  const stopWatching = idle.timeout.watch(
    () => state.lastActivity,
    () => end(Exit.fail(failed(`${idle.reason} for ${idle.timeout.ms / 1000} s`)))
  )
  stop = () => {
    stopWatching()
    // Not waited for: a provider may take its time to stop. An interruption of one that has ended is work for nothing.
    if (provider.unsafePoll() === null) provider.unsafeInterruptAsFork(FiberId.none)
  }
  provider.addObserver((exit) => end(settled(exit, failed)))
  return () => end(Exit.interrupt(FiberId.none))
}

/** A request, as {@link startRequest} runs it, whose end the fiber waits for. */
export const fencedRequest = <E extends ProviderError>(
  circuit: ProviderCircuit,
  failed: (reason: string) => E,
  idle: { readonly timeout: SharedTimeout; readonly reason: string },
  run: (state: RequestState) => Effect.Effect<void, E>
): Effect.Effect<void, E> =>
  Effect.flatMap(Effect.runtime<never>(), (runtime) =>
    Effect.async<void, E>((resume) =>
      Effect.sync(startRequest(circuit, failed, idle, run, runtime, (exit) => resume(exit)))
    )
  )
