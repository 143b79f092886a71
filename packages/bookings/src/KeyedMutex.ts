import { Clock, Duration, Effect } from "effect"

/** Runs work of the same name one at a time in this process. */
export interface KeyedMutex {
  /**
   * Runs `work` once earlier work of that name has ended, with the rest of `timeout` in ms (1 or more). Fails with
   * `onTimeout` when the wait takes longer.
   */
  readonly run: <A, E, R, E2>(
    name: string,
    options: { readonly timeout: Duration.Duration; readonly onTimeout: () => E2 },
    work: (left: number) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | E2, R>
}

/** Holds a semaphore per name while the name is in use. */
export const make = (): KeyedMutex => {
  const mutexes = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()

  const enter = (name: string) =>
    Effect.sync(() => {
      const entry = mutexes.get(name) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
      entry.users += 1
      mutexes.set(name, entry)
      return entry
    })

  return {
    run: (name, { onTimeout, timeout }, work) =>
      Effect.acquireUseRelease(
        enter(name),
        ({ semaphore }) =>
          Effect.gen(function* () {
            const began = yield* Clock.currentTimeMillis
            yield* Effect.timeoutFail(semaphore.take(1), { duration: timeout, onTimeout })
            const waited = (yield* Clock.currentTimeMillis) - began
            const left = Math.max(1, Math.ceil(Duration.toMillis(timeout) - waited))
            return yield* Effect.ensuring(work(left), semaphore.release(1))
          }),
        (entry) =>
          Effect.sync(() => {
            entry.users -= 1
            if (entry.users === 0) mutexes.delete(name)
          })
      )
  }
}
