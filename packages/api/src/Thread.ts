import { Effect } from "effect"
import { yieldThread } from "./JsonLimits.ts"

/** One thread paces the audio of all calls and does everything else. See docs/decisions/0021-limits-before-work.md. */

/** How long work holds the thread before it serves other work, in nanoseconds. */
const turn = 2_000_000n

/**
 * Does work that yields between its steps, and serves other work ({@link yieldThread}) whenever it has held the thread for
 * 2 ms, also before the result is used. A step is never interrupted, so it must be short.
 */
export const inSteps = <A>(work: () => Generator<void, A>): Effect.Effect<A> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const steps = work()
    let from = clock.unsafeCurrentTimeNanos()
    for (let step = steps.next(); ; step = steps.next()) {
      const isTurnOver = clock.unsafeCurrentTimeNanos() - from >= turn
      if (isTurnOver) yield* yieldThread
      if (step.done === true) return step.value
      if (!isTurnOver) continue
      from = clock.unsafeCurrentTimeNanos()
    }
  })

/** Does all steps of such work at once. */
export const atOnce = <A>(steps: Generator<void, A>): A => {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}
