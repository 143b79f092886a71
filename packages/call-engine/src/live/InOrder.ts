import { InFlightSet } from "@svc/providers/InFlightSet"
import { Effect } from "effect"

/**
 * Runs at most `most` effects at a time; the others wait, and run in the order in which they came. Each that ends wakes the
 * next one only, so that the cost is linear: Effect's semaphore wakes all that wait, and each of them waits anew.
 */
export const inOrder = (most: number): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const waiting = new InFlightSet<() => void>()
  let running = 0

  const leave = Effect.sync(() => {
    const next = waiting.first
    if (next === undefined) running -= 1
    else next()
  })
  const wait = Effect.async<void>((resume) => {
    let isNext = false
    const remove = waiting.add(() => {
      isNext = true
      remove()
      resume(Effect.void)
    })
    // When interrupted in the moment in which its turn came, it gives that on.
    return Effect.suspend(() => (isNext ? leave : Effect.sync(remove)))
  })

  return (effect) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(
        Effect.suspend(() => {
          if (running >= most) return restore(wait)
          running += 1
          return Effect.void
        }),
        Effect.ensuring(restore(effect), leave)
      )
    )
}
