import { Cause, Effect, Exit, Fiber } from "effect"
import { errorSummary } from "../ErrorSummary.ts"

/**
 * Runs a plugin's effect in a fiber of its own. A throw, a defect or an interruption inside it becomes
 * `onCrash(reason)`. When the caller is interrupted, it does not wait for the plugin to stop; a value that the plugin
 * still returns goes to `onLateValue`.
 */
export const runIsolated = <A, E>(
  run: () => Effect.Effect<A, E>,
  onCrash: (reason: string) => E,
  onLateValue?: (value: A) => void
): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const self = yield* Effect.fiberId
      const fiber = yield* Effect.forkDaemon(Effect.interruptible(Effect.suspend(run)))
      const exit = yield* restore(Fiber.await(fiber)).pipe(
        Effect.onInterrupt(() =>
          Effect.suspend(() => {
            if (onLateValue !== undefined) {
              fiber.addObserver((exit) => Exit.isSuccess(exit) && onLateValue(exit.value))
            }
            return Fiber.interruptAsFork(fiber, self)
          })
        )
      )
      if (Exit.isSuccess(exit)) return exit.value
      const failure = Cause.failureOrCause(exit.cause)
      return yield* Effect.fail(
        failure._tag === "Left" ? failure.left : onCrash(`crashed: ${errorSummary(Cause.squash(failure.right))}`)
      )
    })
  )
