import { Cause, Effect, Exit } from "effect"
import type { Outcome } from "./Breaker.ts"
import type { Circuit } from "./Circuit.ts"

/** What a typed error of a provider says about the provider: one that another attempt cannot mend is the request's fault. */
export const failure = (error: { readonly reason: string; readonly retryable: boolean }): Outcome =>
  error.retryable ? { _tag: "Failed", reason: error.reason } : { _tag: "Answered" }

const outcome = <A, E extends { readonly reason: string; readonly retryable: boolean }>(
  exit: Exit.Exit<A, E>
): Outcome => {
  if (Exit.isSuccess(exit)) return { _tag: "Succeeded" }
  const found = Cause.failureOption(exit.cause)
  return found._tag === "Some" ? failure(found.value) : { _tag: "Abandoned" }
}

/** Asks the circuit before a call and tells it the outcome after. Refused calls fail at once with `refused(reason)`. */
export const fencedCall =
  <E extends { readonly reason: string; readonly retryable: boolean }>(
    circuit: Circuit,
    refused: (reason: string) => E
  ) =>
  <A, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() =>
      circuit.admit()
        ? Effect.onExit(call, (exit) => Effect.sync(() => circuit.settle(outcome(exit))))
        : Effect.fail(refused(circuit.refusal()))
    )
