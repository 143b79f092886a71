import { type Duration, Effect, RcMap, Runtime, type Scope } from "effect"

/** Connections that the turns of a call share. */
export interface CallConnections<K, A, E> {
  /** The connection for a key, opened when there is none. It stays open for a while after the last scope that uses it. */
  readonly acquire: (key: K) => Effect.Effect<A, E, Scope.Scope>
}

/**
 * Keeps one connection for each key, which `nameOf` distinguishes. `open` gets a function that it calls when the
 * connection takes no more turns, because it was closed or is exhausted: those that use it may still end, the next turn
 * opens another one.
 */
export const make = <K, A, E>(options: {
  readonly nameOf: (key: K) => string
  readonly open: (key: K, retire: () => void) => Effect.Effect<A, E, Scope.Scope>
  /** The contract has no end of a call: a connection that no turn has used for so long belongs to one that is over. */
  readonly idle: Duration.DurationInput
}): Effect.Effect<CallConnections<K, A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    interface Slot {
      readonly name: string
      readonly key: K
    }
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    /** The connection of each name that takes turns. */
    const current = new Map<string, Slot>()
    const forget = (slot: Slot): void => {
      if (current.get(slot.name) === slot) current.delete(slot.name)
    }
    // Each attempt is an object of its own, so that a connection that still ends is never taken for its successor.
    const connections: RcMap.RcMap<Slot, A, E> = yield* RcMap.make({
      idleTimeToLive: options.idle,
      lookup: (slot: Slot) =>
        Effect.zipRight(
          Effect.addFinalizer(() => Effect.sync(() => forget(slot))),
          options.open(slot.key, () => retire(slot))
        )
    })
    const retire = (slot: Slot): void => {
      forget(slot)
      runFork(RcMap.invalidate(connections, slot))
    }
    return {
      acquire: (key) =>
        Effect.suspend(() => {
          const name = options.nameOf(key)
          const slot = current.get(name) ?? { name, key }
          current.set(name, slot)
          return Effect.tapError(RcMap.get(connections, slot), () => Effect.sync(() => retire(slot)))
        })
    }
  })
