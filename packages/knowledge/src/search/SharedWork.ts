import { Effect, Fiber, FiberMap, Option, type Scope } from "effect"

/**
 * Runs work that several wait for once, by key: those who ask while it runs get its result. It belongs to all of them, so
 * it goes on when one is interrupted, until the scope closes.
 */
export const sharedWork = <A>(): Effect.Effect<
  (key: string, work: Effect.Effect<A>) => Effect.Effect<A>,
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const fibers = yield* FiberMap.make<string, A, never>()
    const fork = yield* FiberMap.runtime(fibers)()
    return (key, work) =>
      Effect.suspend(() => Fiber.join(Option.getOrElse(FiberMap.unsafeGet(fibers, key), () => fork(key, work))))
  })
