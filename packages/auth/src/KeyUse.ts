import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Context, Effect, Layer } from "effect"
import { KeysRepo } from "./KeysRepo.ts"

const minute = 60_000

/**
 * Keeps `last_used_at` of the keys without a write per request: each key is noted at most once a minute, and what was
 * noted is written once a second in one statement, and once more at the end.
 */
export class KeyUse extends Context.Tag("@svc/auth/KeyUse")<
  KeyUse,
  {
    /** Notes that a key was used at `now` (ms). Costs a look-up in a map. */
    readonly record: (keyId: number, now: number) => void
  }
>() {
  static readonly layer: Layer.Layer<KeyUse, never, KeysRepo> = Layer.scoped(
    KeyUse,
    Effect.gen(function* () {
      const repo = yield* KeysRepo
      const noted = new Map<number, number>()
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
        for (const [id, at] of noted) if (now - at >= minute) noted.delete(id)
      })

      yield* startPeriodicTask({
        every: "1 second",
        run: Effect.zipRight(prune, write),
        failureMessage: "The last use of API keys could not be written; it is written once the database is back",
        flushTimeout: "2 seconds"
      })

      return {
        record: (keyId, now) => {
          const last = noted.get(keyId)
          if (last !== undefined && now - last < minute) return
          noted.set(keyId, now)
          unwritten.set(keyId, now)
        }
      }
    })
  )
}
