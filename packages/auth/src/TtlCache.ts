import { yieldThread } from "@svc/api/JsonLimits"
import { Effect } from "effect"

/**
 * An in-memory cache for look-ups on the path of every request. It never serves what was read before the last `clear`:
 * a look-up that was in progress at that time does not store its answer.
 */
export interface TtlCache<A> {
  readonly get: (key: string, now: number) => A | undefined
  /**
   * Whether an entry should be read again now, so that the next ones who want it need not wait: true once for an entry,
   * from half of its TTL on.
   */
  readonly isDue: (key: string, now: number) => boolean
  readonly remove: (key: string) => void
  /** Read it before the look-up starts, and pass it to `set` with the answer. */
  readonly epoch: () => number
  readonly set: (key: string, value: A, now: number, epoch: number) => void
  readonly clear: () => void
}

/** `ttl` in ms. Above `capacity` entries the oldest is evicted. */
export const make = <A>(options: { readonly ttl: number; readonly capacity: number }): TtlCache<A> => {
  const entries = new Map<string, { readonly value: A; readonly until: number; isDue: boolean }>()
  let epoch = 0
  return {
    get: (key, now) => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (now < entry.until) return entry.value
      entries.delete(key)
      return undefined
    },
    isDue: (key, now) => {
      const entry = entries.get(key)
      if (entry === undefined || !entry.isDue || now < entry.until - options.ttl / 2) return false
      entry.isDue = false
      return true
    },
    remove: (key) => void entries.delete(key),
    epoch: () => epoch,
    set: (key, value, now, startedIn) => {
      if (startedIn !== epoch) return
      entries.delete(key)
      entries.set(key, { value, until: now + options.ttl, isDue: true })
      if (entries.size > options.capacity) {
        const oldest = entries.keys().next()
        if (oldest.done !== true) entries.delete(oldest.value)
      }
    },
    clear: () => {
      epoch += 1
      entries.clear()
    }
  }
}

/**
 * The cached entry, or the answer of `lookUp`, which is then cached. From half of its TTL on an entry is looked up again
 * by `background`, after what the event loop does now, so that no request waits; one that is not found any more is removed.
 */
export const readThrough = <A, E>(
  cache: TtlCache<A>,
  key: string,
  now: number,
  lookUp: Effect.Effect<A, E>,
  background: (effect: Effect.Effect<unknown>) => unknown
): Effect.Effect<A, E> => {
  const epoch = cache.epoch()
  const read = Effect.map(lookUp, (found) => {
    cache.set(key, found, now, epoch)
    return found
  })
  const hit = cache.get(key, now)
  if (hit === undefined) return read
  // Without the database, which is a defect, the entry stays until its end.
  if (cache.isDue(key, now)) {
    const again = Effect.catchAll(read, () => Effect.sync(() => cache.remove(key)))
    // A query takes a millisecond of the thread before it waits for the database: not at the cost of this request.
    background(Effect.zipRight(yieldThread, again))
  }
  return Effect.succeed(hit)
}
