import { Effect } from "effect"
import { watchStalls } from "../../src/stalls/StallWatch.ts"

/** Holds its thread for ever, once the other thread has had time to start. */
const spin = () => {
  for (;;) Math.sqrt(2)
}

Effect.runFork(
  Effect.scoped(
    Effect.gen(function* () {
      yield* watchStalls({ stallMs: 300, warnMs: 3000, endMs: 4000 })
      setTimeout(spin, 1500)
      return yield* Effect.never
    })
  )
)
