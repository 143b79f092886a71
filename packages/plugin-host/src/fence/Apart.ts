import { Cause, Effect, Exit, Fiber } from "effect"
import { oneLine } from "../loader/OneLine.ts"

/**
 * Runs a plugin's effect in a fiber apart, so that what it does cannot spread: a throw, a defect or an interruption of its own
 * becomes `crashed(reason)`, and when we interrupt it we do not wait for it to agree. What it gives after that goes to `late`.
 */
export const apart = <A, E>(
  run: () => Effect.Effect<A, E>,
  crashed: (reason: string) => E,
  late?: (value: A) => void
): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const self = yield* Effect.fiberId
      const fiber = yield* Effect.forkDaemon(Effect.interruptible(Effect.suspend(run)))
      const exit = yield* restore(Fiber.await(fiber)).pipe(
        Effect.onInterrupt(() =>
          Effect.suspend(() => {
            if (late !== undefined) fiber.addObserver((exit) => Exit.isSuccess(exit) && late(exit.value))
            return Fiber.interruptAsFork(fiber, self)
          })
        )
      )
      if (Exit.isSuccess(exit)) return exit.value
      const failure = Cause.failureOrCause(exit.cause)
      return yield* Effect.fail(
        failure._tag === "Left" ? failure.left : crashed(`crashed: ${oneLine(Cause.squash(failure.right))}`)
      )
    })
  )
