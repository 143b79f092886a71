import { Clock, Duration, Effect } from "effect"

interface Sleeper {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

/** A clock whose time passes only by `advanceTo`. Times are milliseconds since its start. */
export interface VirtualClock {
  /** The clock for effects. Its times are Unix milliseconds. */
  readonly clock: Clock.Clock
  readonly now: () => number
  /** When the next sleeper is due; infinity without one. */
  readonly nextDue: () => number
  /**
   * Sets the time and wakes the sleepers that are due, by their time and then in the order in which they went to sleep.
   */
  readonly advanceTo: (time: number) => void
}

/** A virtual clock that starts at `start` (Unix milliseconds). `onSleep` is called after a sleeper was added. */
export const makeVirtualClock = (start: number, onSleep: () => void = () => {}): VirtualClock => {
  let now = 0
  let order = 0
  let sleepers: ReadonlyArray<Sleeper> = []
  const millis = () => start + now
  const nanos = () => BigInt(Math.round(millis() * 1e6))
  return {
    clock: {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: millis,
      unsafeCurrentTimeNanos: nanos,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.async<void>((resume) => {
          const at = now + Duration.toMillis(duration)
          const sleeper: Sleeper = { at, order: order++, wake: () => resume(Effect.void) }
          sleepers = [...sleepers, sleeper]
          onSleep()
          return Effect.sync(() => {
            sleepers = sleepers.filter((other) => other !== sleeper)
          })
        })
    },
    now: () => now,
    nextDue: () => Math.min(...sleepers.map(({ at }) => at)),
    advanceTo: (time) => {
      now = Math.max(now, time)
      const due = sleepers.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at || a.order - b.order)
      sleepers = sleepers.filter(({ at }) => at > now)
      for (const { wake } of due) wake()
    }
  }
}

/** Turns of the event loop to wait before time advances, so that all ready work is done. */
const idleTurns = 8

/**
 * Runs an effect in virtual time: when no work is left, the clock advances to the next sleeper. Minutes pass in
 * milliseconds, and the machine's load has no influence. Only for providers that are entirely in memory and use
 * `Clock`: sockets and `setTimeout` use real time.
 */
export const inVirtualTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let done = false
    let advancing = false

    const advance = (turns: number): void => {
      if (done || virtual.nextDue() === Number.POSITIVE_INFINITY) {
        advancing = false
        return
      }
      if (turns > 0) {
        setImmediate(() => advance(turns - 1))
        return
      }
      virtual.advanceTo(virtual.nextDue())
      setImmediate(() => advance(idleTurns))
    }
    const virtual = makeVirtualClock(0, () => {
      if (advancing) return
      advancing = true
      advance(idleTurns)
    })
    return Effect.withClock(effect, virtual.clock).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          done = true
        })
      )
    )
  })
