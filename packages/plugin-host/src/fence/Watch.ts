import { Clock, Effect } from "effect"

/**
 * Fails with `late()` when nothing has been seen for `idleMs`: `lastSeen` tells when something last was, or null while it is
 * we who keep the provider waiting. One sleeping fiber, however many events pass.
 */
export const watch = <E>(lastSeen: () => number | null, idleMs: number, late: () => E): Effect.Effect<never, E> =>
  Effect.gen(function* () {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const left = (lastSeen() ?? now) + idleMs - now
      if (left <= 0) return yield* Effect.fail(late())
      yield* Effect.sleep(left)
    }
  })
