import { Effect } from "effect"

/** An effect that waits. */
interface Waiting {
  readonly begin: () => void
  /** It was interrupted. */
  isGone: boolean
}

/**
 * Runs at most `most` effects at a time; the others wait, and run in the order in which they came. Each that ends wakes the
 * next one only, so that the cost is linear: Effect's semaphore wakes all that wait, and each of them waits anew.
 */
export const inOrder = (most: number): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const waiting: Array<Waiting> = []
  let running = 0

  const leave = Effect.sync(() => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (!next.isGone) return next.begin()
    }
    running -= 1
  })
  const wait = Effect.async<void>((resume) => {
    let isNext = false
    const one: Waiting = {
      begin: () => {
        isNext = true
        resume(Effect.void)
      },
      isGone: false
    }
    waiting.push(one)
    return Effect.suspend(() => {
      one.isGone = true
      // When interrupted in the moment in which its turn came, it gives that on.
      return isNext ? leave : Effect.void
    })
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
