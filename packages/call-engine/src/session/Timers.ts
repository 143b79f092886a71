import { Effect, FiberHandle, type Scope } from "effect"
import { stallMs } from "../media/StallTime.ts"

/** Timers that are due within this time of each other fire together, in milliseconds. */
const toleranceMs = 0.5
/** How long the process may read its sockets before the timers of a fiber that woke up late fire, in milliseconds. */
const readMs = 20

/**
 * The timers of a call, by name. A turn starts and stops many timers, and few of them fire, so one fiber serves all: it
 * sleeps until the first is due, and sleeps again if that timer was stopped or restarted meanwhile.
 */
export interface Timers<Name extends string> {
  /** Starts a timer, in place of the one of the same name. */
  readonly start: (timer: Name, ms: number) => void
  readonly stop: (timer: Name) => void
}

interface Due {
  readonly at: number
  readonly ms: number
  /** What `stalled` was at the start. */
  readonly stalled: number
}

/**
 * `now` is the call's time in milliseconds; `onFired` is called outside of `start` and `stop`. `stalled`: how
 * long the process has stalled in all, in milliseconds. A timer does not count that time, because the input that it waits for
 * may be in a socket, unread; but it takes at most twice its time. A late timer fires after the sockets were read.
 */
export const make = <Name extends string>(options: {
  readonly now: () => number
  readonly stalled?: (timer: Name) => number
  readonly onFired: (timer: Name) => void
}): Effect.Effect<Timers<Name>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { now, onFired, stalled = () => 0 } = options
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    const due = new Map<Name, Due>()
    const timeOf = ([timer, { at, ms, stalled: before }]: readonly [Name, Due]): number =>
      at + Math.min(ms, stalled(timer) - before)
    /** When the fiber wakes up. */
    let wakesAt = Number.POSITIVE_INFINITY
    let firing = false

    const fire = (): void => {
      const at = now() + toleranceMs
      const ready = [...due].filter((entry) => timeOf(entry) <= at).sort((a, b) => timeOf(a) - timeOf(b))
      firing = true
      for (const [timer, when] of ready) {
        // A timer that fired may have stopped or restarted this one.
        if (due.get(timer) !== when) continue
        due.delete(timer)
        onFired(timer)
      }
      firing = false
      wakesAt = Math.min(...[...due].map(timeOf))
    }
    const watch: Effect.Effect<void> = Effect.suspend(() =>
      wakesAt === Number.POSITIVE_INFINITY
        ? Effect.void
        : Effect.zipRight(
            Effect.sleep(Math.max(0, Math.ceil(wakesAt - now() - toleranceMs))),
            Effect.zipRight(
              Effect.suspend(() => (now() - wakesAt > stallMs ? Effect.sleep(readMs) : Effect.void)),
              Effect.suspend(() => {
                fire()
                return watch
              })
            )
          )
    )

    return {
      start: (timer, ms) => {
        const at = now() + ms
        due.set(timer, { at, ms, stalled: stalled(timer) })
        if (firing || at >= wakesAt) return
        wakesAt = at
        run(watch)
      },
      stop: (timer) => {
        due.delete(timer)
      }
    }
  })
