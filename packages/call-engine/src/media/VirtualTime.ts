import { Clock, Context, Duration, Effect, Layer } from "effect"
import { FrameWheel } from "./FrameWheel.ts"
import { StallTime } from "./StallTime.ts"
import { Ticker } from "./Ticker.ts"

interface Sleeper {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

/** Runs everything that is ready, microtasks included, before time advances. */
const runReady = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/**
 * Time that is advanced explicitly, for `Clock` and `Ticker` alike: a call of half an hour runs in seconds, with the
 * same frames, timers and events each time. Providers and servers that take real time are not affected.
 */
export class VirtualTime extends Context.Tag("@svc/call-engine/VirtualTime")<
  VirtualTime,
  {
    /** Milliseconds since the beginning. */
    readonly now: () => number
    /** Advances through every timer and frame that falls due, in order. */
    readonly advance: (duration: Duration.DurationInput) => Effect.Effect<void>
    /** Advances without a timer or frame, as when the process is too busy: what is due meanwhile is late. */
    readonly stall: (duration: Duration.DurationInput) => Effect.Effect<void>
  }
>() {
  /** Replaces clock and ticker. Time begins at `start` (Unix milliseconds). */
  static readonly layer = (start: number): Layer.Layer<VirtualTime | Ticker> =>
    Layer.unwrapEffect(
      Effect.sync(() => {
        let now = 0
        let nextOrder = 0
        let sleepers: Array<Sleeper> = []
        // What is heard does not depend on how many calls there are.
        const wheel = new FrameWheel(() => waitForFrames(), Number.POSITIVE_INFINITY)
        const stalls = new StallTime(() => now)
        const waitForFrames = () => stalls.wait(wheel.idle ? Number.POSITIVE_INFINITY : wheel.nextDue)
        /** A source that left between two ticks has no frame that is late. */
        const forgetFrames = () => {
          if (wheel.idle) waitForFrames()
        }

        const sleep = (duration: Duration.Duration): Effect.Effect<void> =>
          Effect.async<void>((resume) => {
            const sleeper = {
              at: now + Duration.toMillis(duration),
              order: nextOrder++,
              wake: () => resume(Effect.void)
            }
            sleepers.push(sleeper)
            return Effect.sync(() => {
              sleepers = sleepers.filter((s) => s !== sleeper)
            })
          })
        const clock: Clock.Clock = {
          [Clock.ClockTypeId]: Clock.ClockTypeId,
          unsafeCurrentTimeMillis: () => start + now,
          unsafeCurrentTimeNanos: () => BigInt(Math.round((start + now) * 1e6)),
          currentTimeMillis: Effect.sync(() => start + now),
          currentTimeNanos: Effect.sync(() => BigInt(Math.round((start + now) * 1e6))),
          sleep
        }

        const nextDue = (): number =>
          Math.min(wheel.idle ? Number.POSITIVE_INFINITY : wheel.nextDue, ...sleepers.map((s) => s.at))

        /** Runs what is due now: timers in the order in which they were set, then frames. */
        const runDue = Effect.sync(() => {
          const due = sleepers.filter((s) => s.at <= now).sort((a, b) => a.at - b.at || a.order - b.order)
          sleepers = sleepers.filter((s) => s.at > now)
          forgetFrames()
          stalls.fired()
          for (const sleeper of due) sleeper.wake()
          wheel.tickDueSlots(now, () => now)
          waitForFrames()
        })

        const advance = (duration: Duration.DurationInput): Effect.Effect<void> =>
          Effect.gen(function* () {
            const until = now + Duration.toMillis(duration)
            yield* runReady
            for (let next = nextDue(); next <= until; next = nextDue()) {
              now = Math.max(now, next)
              yield* runDue
              yield* runReady
            }
            now = until
          })
        const stall = (duration: Duration.DurationInput): Effect.Effect<void> =>
          Effect.sync(() => {
            now += Duration.toMillis(duration)
          })

        return Layer.mergeAll(
          Layer.succeed(VirtualTime, { now: () => now, advance, stall }),
          Layer.succeed(Ticker, {
            wheel,
            now: () => now,
            stalled: () => {
              forgetFrames()
              return stalls.total
            }
          }),
          Layer.setClock(clock)
        )
      })
    )
}
