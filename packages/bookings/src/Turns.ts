import { Clock, Duration, Effect } from "effect"

/** Lets work of the same name run one at a time in this process. */
export interface Turns {
  /**
   * Runs `work` when it is its turn. Should that not come within `patience` it fails with `late`; else `work` is given what is
   * left of it, in milliseconds and at least one.
   */
  readonly run: <A, E, R, E2>(
    name: string,
    options: { readonly patience: Duration.Duration; readonly late: () => E2 },
    work: (left: number) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | E2, R>
}

/** As many names as are in use are held, and no more. */
export const make = (): Turns => {
  const held = new Map<string, { readonly turn: Effect.Semaphore; users: number }>()

  const enter = (name: string) =>
    Effect.sync(() => {
      const entry = held.get(name) ?? { turn: Effect.unsafeMakeSemaphore(1), users: 0 }
      entry.users += 1
      held.set(name, entry)
      return entry
    })

  return {
    run: (name, { late, patience }, work) =>
      Effect.acquireUseRelease(
        enter(name),
        ({ turn }) =>
          Effect.gen(function* () {
            const began = yield* Clock.currentTimeMillis
            yield* Effect.timeoutFail(turn.take(1), { duration: patience, onTimeout: late })
            const waited = (yield* Clock.currentTimeMillis) - began
            const left = Math.max(1, Math.ceil(Duration.toMillis(patience) - waited))
            return yield* Effect.ensuring(work(left), turn.release(1))
          }),
        (entry) =>
          Effect.sync(() => {
            entry.users -= 1
            if (entry.users === 0) held.delete(name)
          })
      )
  }
}
