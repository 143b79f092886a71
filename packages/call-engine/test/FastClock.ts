import { Clock, Duration } from "effect"

/** A clock on which all waiting takes a fraction of its time; it tells the real time. */
export const fastClock = (times: number): Clock.Clock => {
  const real = Clock.make()
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => real.unsafeCurrentTimeMillis(),
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
    currentTimeMillis: real.currentTimeMillis,
    currentTimeNanos: real.currentTimeNanos,
    sleep: (duration) => real.sleep(Duration.times(duration, 1 / times))
  }
}
