import { Duration, Effect, type Scope } from "effect"

/** The shortest wait, in milliseconds, for rows that are due and locked by another node. */
const shortest = 50

export interface DueTask<R> {
  /**
   * Begins what is due, and returns the milliseconds until something is due next; undefined when that is not known. A
   * failed run is not retried, the next run is.
   */
  readonly run: Effect.Effect<number | undefined, unknown, R>
  /** The longest wait for the next run. Other nodes leave work without waking this one. */
  readonly atLeastEvery: Duration.DurationInput
  /** Logged as a warning, with the cause, at the first failure in a row. */
  readonly failureMessage: string
}

/**
 * Runs a task on this node when something is due, until the scope closes; a failed run does not stop it. Returns a
 * function that lets the task run now, because something has changed. Closing interrupts a run in progress.
 */
export const startDueTask = <R>(task: DueTask<R>): Effect.Effect<() => void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const changed = yield* Effect.makeLatch(false)
    const longest = Duration.toMillis(task.atLeastEvery)
    let failing = false
    const attempt = task.run.pipe(
      Effect.tap(() => {
        failing = false
      }),
      Effect.catchAllCause((cause) => {
        if (failing) return Effect.void
        failing = true
        return Effect.logWarning(task.failureMessage, cause)
      })
    )
    yield* Effect.gen(function* () {
      changed.unsafeClose()
      const next = (yield* attempt) ?? longest
      yield* Effect.raceFirst(changed.await, Effect.sleep(Math.min(longest, Math.max(shortest, next))))
    }).pipe(Effect.forever, Effect.forkScoped)
    return () => void changed.unsafeOpen()
  })
