import { Effect, FiberHandle, type Scope } from "effect"

/** Timers that are due within this time of each other fire together, in milliseconds. */
const toleranceMs = 0.5

/**
 * The timers of a call, by name. A turn starts and stops many timers, and few of them fire, so one fiber serves all: it
 * sleeps until the first is due, and sleeps again if that timer was stopped or restarted meanwhile.
 */
export interface Timers<Name extends string> {
  /** Starts a timer, in place of the one of the same name. */
  readonly start: (timer: Name, ms: number) => void
  readonly stop: (timer: Name) => void
}

/** `now` is the call's time in milliseconds; `onFired` is called outside of `start` and `stop`. */
export const make = <Name extends string>(options: {
  readonly now: () => number
  readonly onFired: (timer: Name) => void
}): Effect.Effect<Timers<Name>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { now, onFired } = options
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    const due = new Map<Name, number>()
    /** When the fiber wakes up. */
    let wakesAt = Number.POSITIVE_INFINITY
    let firing = false

    const fire = (): void => {
      const at = now() + toleranceMs
      const ready = [...due].filter(([, when]) => when <= at).sort(([, a], [, b]) => a - b)
      firing = true
      for (const [timer, when] of ready) {
        // A timer that fired may have stopped or restarted this one.
        if (due.get(timer) !== when) continue
        due.delete(timer)
        onFired(timer)
      }
      firing = false
      wakesAt = Math.min(...due.values())
    }
    const watch: Effect.Effect<void> = Effect.suspend(() =>
      wakesAt === Number.POSITIVE_INFINITY
        ? Effect.void
        : Effect.zipRight(
            Effect.sleep(Math.max(0, Math.ceil(wakesAt - now() - toleranceMs))),
            Effect.suspend(() => {
              fire()
              return watch
            })
          )
    )

    return {
      start: (timer, ms) => {
        const at = now() + ms
        due.set(timer, at)
        if (firing || at >= wakesAt) return
        wakesAt = at
        run(watch)
      },
      stop: (timer) => {
        due.delete(timer)
      }
    }
  })
