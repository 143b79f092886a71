import { Clock, Effect } from "effect"

/**
 * Fails with `onTimeout()` when nothing has happened for `idleMs`. `lastActivity` returns the time of the last
 * activity, or null while the provider waits for us. Uses one sleeping fiber for any number of events.
 */
export const idleTimeout = <E>(
  lastActivity: () => number | null,
  idleMs: number,
  onTimeout: () => E
): Effect.Effect<never, E> =>
  Effect.gen(function* () {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const left = (lastActivity() ?? now) + idleMs - now
      if (left <= 0) return yield* Effect.fail(onTimeout())
      yield* Effect.sleep(left)
    }
  })
