import { type Duration, Effect, type Scope } from "effect"

export interface PeriodicTask<R> {
  /** The wait before the first run, and between the end of a run and the next; an effect is run before each wait. */
  readonly every: Duration.DurationInput | Effect.Effect<Duration.DurationInput>
  /** The wait ends early when this completes. */
  readonly early?: Effect.Effect<void>
  /** Must keep what it could not write: a failed run is not retried, the next run is. */
  readonly run: Effect.Effect<void, unknown, R>
  /** A run is left out when this is false at its time. It must be cheap: it saves an idle node the rest of a run. */
  readonly hasWork?: Effect.Effect<boolean>
  /** Logged as a warning, with the cause, at the first failure in a row. */
  readonly failureMessage: string
  /** A run that takes longer is interrupted and counts as failed. */
  readonly timeout?: Duration.DurationInput
  /** With it there is one more run when the scope closes, which may take this long. */
  readonly flushTimeout?: Duration.DurationInput
}

/**
 * Runs a task on this node until the scope closes; a failed run does not stop it. Closing interrupts a run in progress.
 * For a job that one node does for all, see Cron.
 */
export const startPeriodicTask = <R>(task: PeriodicTask<R>): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    let failing = false
    const attempt = (timeout: Duration.DurationInput | undefined) =>
      (timeout === undefined ? task.run : Effect.timeout(task.run, timeout)).pipe(
        Effect.tap(() => {
          failing = false
        }),
        // Not reached when this fiber is interrupted: an interruption inside a run is a failure like others.
        Effect.catchAllCause((cause) => {
          if (failing) return Effect.void
          failing = true
          return Effect.logWarning(task.failureMessage, cause)
        })
      )
    const { early, every, flushTimeout, hasWork, timeout } = task
    const sleep = Effect.isEffect(every) ? Effect.flatMap(every, Effect.sleep) : Effect.sleep(every)
    const wait = early === undefined ? sleep : Effect.raceFirst(sleep, early)
    const once = attempt(timeout)
    const next = hasWork === undefined ? once : Effect.if(hasWork, { onTrue: () => once, onFalse: () => Effect.void })
    if (flushTimeout !== undefined) {
      // Registered before the fork, so that it runs after the loop has ended. Finalizers are uninterruptible, and a
      // timeout must be able to interrupt.
      const context = yield* Effect.context<R>()
      yield* Effect.addFinalizer(() => attempt(flushTimeout).pipe(Effect.provide(context), Effect.interruptible))
    }
    yield* wait.pipe(Effect.zipRight(next), Effect.forever, Effect.forkScoped)
  })
