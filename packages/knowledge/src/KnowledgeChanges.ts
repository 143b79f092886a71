import { Context, Effect, Layer } from "effect"

/**
 * Notifies the workers of this process when a knowledge base may be due, so that they seldom need to query for due bases.
 * `DueCheck` finds the bases that other processes changed.
 */
export class KnowledgeChanges extends Context.Tag("@svc/knowledge/KnowledgeChanges")<
  KnowledgeChanges,
  {
    /** To be run after the transaction that made a base due. */
    readonly announce: Effect.Effect<void>
    /** Makes a worker's wait, which completes when something was announced since the last time. */
    readonly listen: Effect.Effect<Effect.Effect<void>>
  }
>() {
  static readonly layer: Layer.Layer<KnowledgeChanges> = Layer.sync(KnowledgeChanges, () => {
    const latches = new Set<Effect.Latch>()
    return {
      announce: Effect.sync(() => {
        for (const latch of latches) latch.unsafeOpen()
      }),
      listen: Effect.sync(() => {
        const latch = Effect.unsafeMakeLatch()
        latches.add(latch)
        return Effect.tap(latch.await, () => latch.close)
      })
    }
  })
}
