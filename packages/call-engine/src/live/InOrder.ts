import { Effect } from "effect"

/** An effect that waits. */
interface Waiting {
  readonly begin: () => void
  /** It was interrupted while it waited. */
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

  return (effect) =>
    Effect.uninterruptibleMask((restore) => {
      // Only the wait itself can be interrupted: what counts it in and out is outside of `restore`.
      const turn = Effect.suspend(() => {
        if (running < most) {
          running += 1
          return Effect.void
        }
        let isNext = false
        let wake: (() => void) | undefined
        const one: Waiting = {
          begin: () => {
            isNext = true
            wake?.()
          },
          isGone: false
        }
        waiting.push(one)
        const wait = Effect.async<void>((resume) => {
          wake = () => resume(Effect.void)
          if (isNext) wake()
        })
        return Effect.onInterrupt(restore(wait), () => {
          one.isGone = true
          // Interrupted after its turn came and before it ran: it passes the turn on.
          return isNext ? leave : Effect.void
        })
      })
      return Effect.zipRight(turn, Effect.ensuring(restore(effect), leave))
    })
}
