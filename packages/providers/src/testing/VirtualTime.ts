import { Clock, Duration, Effect } from "effect"

/** Turns of the event loop without anything to do after which a process counts as idle. */
const idleTurns = 8

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/**
 * Runs an effect in virtual time: whenever nothing else is left to do, the clock jumps to the next sleeper. Minutes pass in
 * milliseconds, and nothing depends on how busy the machine is. Only for providers that are wholly in memory and tell time by
 * `Clock`: real sockets and `setTimeout` know nothing of it.
 */
export const inVirtualTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let now = 0
    let done = false
    let jumping = false
    let sleepers: ReadonlyArray<Sleeper> = []

    const jump = (turns: number): void => {
      if (done || sleepers.length === 0) {
        jumping = false
        return
      }
      if (turns > 0) {
        setImmediate(() => jump(turns - 1))
        return
      }
      now = Math.max(now, Math.min(...sleepers.map(({ at }) => at)))
      const due = sleepers.filter(({ at }) => at <= now)
      sleepers = sleepers.filter(({ at }) => at > now)
      for (const { wake } of due) wake()
      setImmediate(() => jump(idleTurns))
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
          if (!jumping) {
            jumping = true
            jump(idleTurns)
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
