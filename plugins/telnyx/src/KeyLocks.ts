import { Effect } from "effect"

/** Lets one effect at a time run for each key. */
export class KeyLocks {
  readonly #locks = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()

  readonly within =
    (key: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const lock = this.#locks.get(key) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
          lock.users++
          this.#locks.set(key, lock)
          return lock
        }),
        ({ semaphore }) => semaphore.withPermits(1)(effect),
        (lock) =>
          Effect.sync(() => {
            lock.users--
            if (lock.users === 0) this.#locks.delete(key)
          })
      )
}
