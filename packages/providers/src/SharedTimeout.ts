import { Effect, Exit, Runtime } from "effect"
import { InFlightSet } from "./InFlightSet.ts"
import { monotonicMillis } from "./MonotonicTime.ts"

interface Watched {
  readonly lastActivity: () => number | null
  readonly onTimeout: () => void
  /** Ends the watch; a second time it does nothing. */
  readonly stop: () => void
  isOver: boolean
}

/**
 * The longest sleep in milliseconds, and so the longest time that the fiber outlives the last request. Requests often follow
 * one another, and starting and interrupting a fiber for each costs more than the rest of this module.
 */
const longestSleepMs = 1000

/**
 * The same timeout for any number of requests that run at once: one fiber sleeps for all of them, and ends within a second
 * after the last one.
 */
export interface SharedTimeout {
  /** The length in milliseconds. */
  readonly ms: number
  /** The present time, in milliseconds: monotonic, so that no change of the system's time ends a request early or late. */
  readonly now: () => number
  /**
   * Calls `onTimeout` when nothing has happened for so long, unless the result is called before. `lastActivity` returns
   * the time of the last activity, by `now`, or null while none is due. Neither function may throw.
   */
  readonly watch: (lastActivity: () => number | null, onTimeout: () => void) => () => void
}

/** A timeout of `ms` milliseconds, by the clock of the fiber that makes it. */
export const make = (ms: number): Effect.Effect<SharedTimeout> =>
  Effect.zipWith(Effect.runtime<never>(), Effect.clock, (runtime, clock) => {
    const now = (): number => monotonicMillis(clock)
    const runFork = Runtime.runFork(runtime)
    const watched = new InFlightSet<Watched>()
    let hasFiber = false

    /** Reports the timeouts that are due, and returns the milliseconds until the next one may be. */
    const expire = (): number => {
      const time = now()
      let next = Math.min(ms, longestSleepMs)
      for (const one of watched) {
        // Ended by another one's `onTimeout`.
        if (one.isOver) continue
        const left = (one.lastActivity() ?? time) + ms - time
        if (left > 0) next = Math.min(next, left)
        else {
          one.stop()
          one.onTimeout()
        }
      }
      return next
    }
    const sleep = Effect.gen(function* () {
      while (true) {
        const left = expire()
        if (watched.size === 0) {
          // Here and not in an observer, which may run after the next request has begun: that would have no fiber.
          hasFiber = false
          return
        }
        // A timer rounds down, and would wake up too early.
        yield* Effect.sleep(Math.ceil(left))
      }
    })
    const begin = (): void => {
      hasFiber = true
      runFork(sleep).addObserver((exit) => {
        // A function of a request threw.
        if (Exit.isFailure(exit)) hasFiber = false
      })
    }

    return {
      ms,
      now,
      watch: (lastActivity, onTimeout) => {
        const one: Watched = {
          lastActivity,
          onTimeout,
          stop: () => {
            one.isOver = true
            remove()
          },
          isOver: false
        }
        const remove = watched.add(one)
        if (!hasFiber) begin()
        return one.stop
      }
    }
  })
