import { Effect } from "effect"

/** Runs at each 20 ms of the monotonic clock. `Schedule.fixed` ticks twice where a timer comes a millisecond early. */
export const everyFrame = (tick: () => void): Effect.Effect<never> =>
  Effect.gen(function* () {
    for (let due = performance.now(); ; due += 20) {
      yield* Effect.sleep(Math.max(0, Math.ceil(due - performance.now())))
      tick()
    }
  })
