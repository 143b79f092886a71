import { Clock, Effect } from "effect"

/** A clock whose time of day can be set, as when the system's time is corrected: the length of a second does not change. */
export interface SteppedClock {
  readonly clock: Clock.Clock
  /** Sets the time of day forward by so many milliseconds, or back. */
  readonly step: (ms: number) => Effect.Effect<void>
}

/** A stepped clock that otherwise follows the clock of the fiber that makes it. */
export const makeSteppedClock: Effect.Effect<SteppedClock> = Effect.map(Effect.clock, (even) => {
  let stepped = 0
  const millis = () => even.unsafeCurrentTimeMillis() + stepped
  return {
    clock: {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: millis,
      unsafeCurrentTimeNanos: () => even.unsafeCurrentTimeNanos(),
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanos: even.currentTimeNanos,
      sleep: (duration) => even.sleep(duration)
    },
    step: (ms) =>
      Effect.sync(() => {
        stepped += ms
      })
  }
})
