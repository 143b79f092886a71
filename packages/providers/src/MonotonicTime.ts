import type { Clock } from "effect"

/**
 * Milliseconds by a clock that runs on evenly when the system's time is set: for lengths of time, not for times of day. With
 * a precision of one microsecond, so that a whole number of milliseconds stays one.
 */
export const monotonicMillis = (clock: Clock.Clock): number =>
  Math.round(Number(clock.unsafeCurrentTimeNanos()) / 1000) / 1000
