/**
 * An in-memory cache for look-ups on the path of every request. It never serves what was read before the last `clear`:
 * a look-up that was in progress at that time does not store its answer.
 */
export interface TtlCache<A> {
  readonly get: (key: string, now: number) => A | undefined
  /** Read it before the look-up starts, and pass it to `set` with the answer. */
  readonly epoch: () => number
  readonly set: (key: string, value: A, now: number, epoch: number) => void
  readonly clear: () => void
}

/** `ttl` in ms. Above `capacity` entries the oldest is evicted. */
export const make = <A>(options: { readonly ttl: number; readonly capacity: number }): TtlCache<A> => {
  const entries = new Map<string, { readonly value: A; readonly until: number }>()
  let epoch = 0
  return {
    get: (key, now) => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (now < entry.until) return entry.value
      entries.delete(key)
      return undefined
    },
    epoch: () => epoch,
    set: (key, value, now, startedIn) => {
      if (startedIn !== epoch) return
      entries.delete(key)
      entries.set(key, { value, until: now + options.ttl })
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
