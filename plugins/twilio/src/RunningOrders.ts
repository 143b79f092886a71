import { Deferred, Effect, FiberId, FiberSet, type Scope } from "effect"

/** Orders at a carrier that are being carried out. */
export interface RunningOrders<A, E> {
  /**
   * Carries out an order, or waits for the one with the same key that runs. It goes on when the waiting is interrupted. Orders
   * for the same `subject`, such as a number, run one after the other.
   */
  readonly run: (key: string, subject: string, order: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

export const make = <A, E>(): Effect.Effect<RunningOrders<A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runFork = yield* FiberSet.makeRuntime<never>()
    const running = new Map<string, Deferred.Deferred<A, E>>()
    const subjects = new Map<string, { readonly lock: Effect.Semaphore; users: number }>()

    const locked = (subject: string, order: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const entry = subjects.get(subject) ?? { lock: Effect.unsafeMakeSemaphore(1), users: 0 }
          entry.users++
          subjects.set(subject, entry)
          return entry
        }),
        ({ lock }) => lock.withPermits(1)(order),
        (entry) =>
          Effect.sync(() => {
            if (--entry.users === 0) subjects.delete(subject)
          })
      )

    return {
      run: (key, subject, order) =>
        Effect.suspend(() => {
          const known = running.get(key)
          if (known !== undefined) return Deferred.await(known)
          const outcome = Deferred.unsafeMake<A, E>(FiberId.none)
          running.set(key, outcome)
          runFork(
            Effect.intoDeferred(locked(subject, order), outcome).pipe(
              Effect.ensuring(Effect.sync(() => running.delete(key))),
              Effect.asVoid
            )
          )
          return Deferred.await(outcome)
        })
    }
  })
