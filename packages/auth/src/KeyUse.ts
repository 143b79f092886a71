import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Context, Effect, Layer } from "effect"
import { KeysRepo } from "./KeysRepo.ts"

const minute = 60_000

/**
 * Updates `last_used_at` of keys without a write per request: each key is recorded at most once a minute, and recorded
 * uses are written once a second in one statement, and once more when the server stops.
 */
export class KeyUse extends Context.Tag("@svc/auth/KeyUse")<
  KeyUse,
  {
    /** Records that a key was used at `now` (ms). Costs a look-up in a map. */
    readonly record: (keyId: number, now: number) => void
  }
>() {
  static readonly layer: Layer.Layer<KeyUse, never, KeysRepo> = Layer.scoped(
    KeyUse,
    Effect.gen(function* () {
      const repo = yield* KeysRepo
      const recorded = new Map<number, number>()
      const unwritten = new Map<number, number>()

      // The batch stays unwritten when the write fails, so a database restart loses nothing.
      const write = Effect.suspend(() => {
        if (unwritten.size === 0) return Effect.void
        const batch = [...unwritten]
        return Effect.map(repo.recordUse(batch), () => {
          for (const [id, at] of batch) if (unwritten.get(id) === at) unwritten.delete(id)
        })
      })
      const prune = Effect.map(Effect.clock, (clock) => {
        const now = clock.unsafeCurrentTimeMillis()
        for (const [id, at] of recorded) if (now - at >= minute) recorded.delete(id)
      })

      yield* startPeriodicTask({
        every: "1 second",
        hasWork: Effect.sync(() => recorded.size > 0 || unwritten.size > 0),
        run: Effect.zipRight(prune, write),
        failureMessage: "The last use of API keys could not be written; it is written once the database is back",
        flushTimeout: "2 seconds"
      })

      return {
        record: (keyId, now) => {
          const last = recorded.get(keyId)
          if (last !== undefined && now - last < minute) return
          recorded.set(keyId, now)
          unwritten.set(keyId, now)
        }
      }
    })
  )
}
