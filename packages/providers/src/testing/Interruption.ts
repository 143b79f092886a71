import { Cause, Effect, Exit, Fiber } from "effect"
import { type Bench, type CheckFailed, must } from "./Check.ts"

/**
 * Interrupts a provider's work and fails when it is still at it a while later, or does anything after it has stopped.
 * `count` tells how much it has done. Not measured in milliseconds, because a busy machine would decide.
 */
export const stops = <I, S, A, E>(
  { quiet, within }: Bench<I, S>,
  work: Fiber.RuntimeFiber<A, E>,
  count: () => number
): Effect.Effect<void, CheckFailed> =>
  Effect.gen(function* () {
    let settled: number | undefined
    const stopping = yield* Fiber.interrupt(work).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          settled = count()
        })
      ),
      Effect.forkDaemon
    )
    yield* quiet
    const soon = settled ?? count()
    const exit = yield* within("stopping when interrupted", Fiber.join(stopping))
    yield* must(!(Exit.isFailure(exit) && Cause.isDie(exit.cause)), "it died")
    yield* quiet
    yield* must(count() === soon, "it went on after it was interrupted")
  })
