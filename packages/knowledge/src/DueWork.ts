import { Context, Effect, Layer } from "effect"

/**
 * Tells the workers of this process that a knowledge base may be due, so that they need not look often. What other
 * processes wrote is found when they look by themselves.
 */
export class DueWork extends Context.Tag("@svc/knowledge/DueWork")<
  DueWork,
  {
    /** After the transaction that made a base due. */
    readonly announce: Effect.Effect<void>
    /** A worker's wait until something was announced since its last wait. */
    readonly listen: Effect.Effect<Effect.Effect<void>>
  }
>() {
  static readonly layer: Layer.Layer<DueWork> = Layer.sync(DueWork, () => {
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
