import { Clock, Duration, Effect } from "effect"

/** A clock that runs `times` as fast as the real one, from now on. */
export const fastClock = (times: number): Clock.Clock => {
  const real = Clock.make()
  const start = real.unsafeCurrentTimeMillis()
  const startNanos = real.unsafeCurrentTimeNanos()
  const millis = (): number => start + (real.unsafeCurrentTimeMillis() - start) * times
  const nanos = (): bigint => startNanos + (real.unsafeCurrentTimeNanos() - startNanos) * BigInt(times)
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) => real.sleep(Duration.times(duration, 1 / times))
  }
}
