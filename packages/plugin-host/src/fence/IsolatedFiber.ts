import { Cause, Effect, Exit, Fiber, Option } from "effect"
import { errorSummary } from "../ErrorSummary.ts"

/** A typed error of a plugin. */
export interface TypedError {
  readonly _tag: string
  readonly reason: string
}

/** Whether a plugin failed with the error that its contract names. It may have failed with anything. */
const isSameError = (failure: unknown, expected: TypedError): boolean =>
  typeof failure === "object" &&
  failure !== null &&
  "_tag" in failure &&
  failure._tag === expected._tag &&
  "reason" in failure &&
  typeof failure.reason === "string"

/** The outcome of a plugin's fiber: all but its value and the error that its contract names is a crash. */
export const settled = <A, E extends TypedError>(
  exit: Exit.Exit<A, E>,
  onCrash: (reason: string, defect: unknown) => E
): Exit.Exit<A, E> => {
  if (Exit.isSuccess(exit)) return exit
  const defect = Cause.squash(exit.cause)
  const crashed = onCrash(`crashed: ${errorSummary(defect)}`, defect)
  const failure = Cause.failureOption(exit.cause)
  return Exit.fail(Option.isSome(failure) && isSameError(failure.value, crashed) ? failure.value : crashed)
}

/**
 * Runs a plugin's effect in a fiber of its own. A throw, a defect, an interruption or an error of another kind inside it
 * becomes `onCrash(reason, defect)`. When the caller is interrupted, it does not wait for the plugin to stop; a value that the plugin
 * still returns goes to `onLateValue`.
 */
export const runIsolated = <A, E extends TypedError>(
  run: () => Effect.Effect<A, E>,
  onCrash: (reason: string, defect: unknown) => E,
  onLateValue?: (value: A) => void
): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDaemon(Effect.interruptible(Effect.suspend(run))), (fiber) =>
      restore(Fiber.await(fiber)).pipe(
        Effect.onInterrupt(() => {
          if (onLateValue !== undefined) {
            fiber.addObserver((exit) => Exit.isSuccess(exit) && onLateValue(exit.value))
          }
          return Effect.fiberIdWith((self) => Fiber.interruptAsFork(fiber, self))
        }),
        Effect.flatMap((exit) => settled(exit, onCrash))
      )
    )
  )
