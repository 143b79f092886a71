import { Clock, Duration, Effect } from "effect"

/** Turns of the event loop to wait before time advances, so that all ready work is done. */
const idleTurns = 8

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/**
 * Runs an effect in virtual time: when no work is left, the clock advances to the next sleeper. Minutes pass in
 * milliseconds, and the machine's load has no influence. Only for providers that are entirely in memory and use
 * `Clock`: sockets and `setTimeout` use real time.
 */
export const inVirtualTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let now = 0
    let done = false
    let advancing = false
    let sleepers: ReadonlyArray<Sleeper> = []

    const advance = (turns: number): void => {
      if (done || sleepers.length === 0) {
        advancing = false
        return
      }
      if (turns > 0) {
        setImmediate(() => advance(turns - 1))
        return
      }
      now = Math.max(now, Math.min(...sleepers.map(({ at }) => at)))
      const due = sleepers.filter(({ at }) => at <= now)
      sleepers = sleepers.filter(({ at }) => at > now)
      for (const { wake } of due) wake()
      setImmediate(() => advance(idleTurns))
    }
    const clock: Clock.Clock = {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: () => now,
      unsafeCurrentTimeNanos: () => BigInt(now) * 1_000_000n,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
      sleep: (duration) =>
        Effect.async<void>((resume) => {
          const sleeper: Sleeper = { at: now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
          sleepers = [...sleepers, sleeper]
          if (!advancing) {
            advancing = true
            advance(idleTurns)
          }
          return Effect.sync(() => {
            sleepers = sleepers.filter((other) => other !== sleeper)
          })
        })
    }
    return Effect.withClock(effect, clock).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          done = true
        })
      )
    )
  })
