import { Cause, Effect, Exit, Fiber } from "effect"
import { type CheckFailed, must, type Waits } from "./Check.ts"

/**
 * Interrupts a provider's work, and fails the check when it continues during the quiet period or does anything after it
 * has stopped. `count` returns how much it has done so far. Milliseconds are not measured, because they depend on the
 * machine's load.
 */
export const mustStop = <A, E>(
  { quiet, within }: Waits,
  work: Fiber.RuntimeFiber<A, E>,
  count: () => number
): Effect.Effect<void, CheckFailed> =>
  Effect.gen(function* () {
    let countWhenStopped: number | undefined
    const stopping = yield* Fiber.interrupt(work).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          countWhenStopped = count()
        })
      ),
      Effect.forkDaemon
    )
    yield* quiet
    const allowed = countWhenStopped ?? count()
    const exit = yield* within("stopping after the interruption", Fiber.join(stopping))
    yield* must(!(Exit.isFailure(exit) && Cause.isDie(exit.cause)), "it died when it was interrupted")
    yield* quiet
    yield* must(count() === allowed, "it continued after it was interrupted")
  })
