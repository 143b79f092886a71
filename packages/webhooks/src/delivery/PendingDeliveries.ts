import type { NewDeliveries } from "./DeliveryFanOut.ts"

/**
 * Delays in milliseconds before looking again for announced deliveries that were not found: their transaction is about to
 * commit. After the last delay they are left to the periodic claim for all webhooks.
 */
const retryDelaysMs = [2, 3, 5, 10, 20, 40, 80] as const

/** Ids this far below the newest one found are skipped: only a very long transaction could still add any there. */
const idMargin = 10_000

interface Entry {
  /** Deliveries that were announced and not found yet. */
  count: number
  /** Searches in a row that found none. */
  misses: number
  /** Time of the next search, in milliseconds. */
  at: number
}

/**
 * The webhooks that have pending deliveries, as far as this process knows from the events that it wrote. They are claimed
 * at once. Deliveries that other nodes wrote or released are found by the periodic claim for all webhooks.
 */
export class PendingDeliveries {
  readonly #entries = new Map<number, Entry>()
  readonly #newestIds = new Map<number, number>()
  readonly #now: () => number

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** No deliveries are announced that were not found. */
  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  /** Announces deliveries. Those of an open transaction are searched for a little later. */
  add(created: NewDeliveries, isCommitted: boolean): void {
    const at = this.#now() + (isCommitted ? 0 : retryDelaysMs[0])
    for (const [id, n] of created) {
      const before = this.#entries.get(id)
      this.#entries.set(id, { count: n + (before?.count ?? 0), misses: 0, at: Math.min(before?.at ?? at, at) })
    }
  }

  /** The webhooks to claim for now, with the room of each; those without room are left out. */
  due(roomOf: (webhookId: number) => number): ReadonlyMap<number, number> {
    const now = this.#now()
    const due = new Map<number, number>()
    for (const [id, { at }] of this.#entries) {
      const room = at <= now ? roomOf(id) : 0
      if (room > 0) due.set(id, room)
    }
    return due
  }

  /**
   * A claim for this webhook need only search ids above this one: lower ones were found before, or are left to the periodic
   * claim. Without it each claim would pass over the dead rows of everything already delivered.
   */
  lowestIdOf(webhookId: number): number {
    return (this.#newestIds.get(webhookId) ?? 0) - idMargin
  }

  /** Records that a claim with this room found `count` deliveries of a webhook; `newest` is their highest id. */
  found(webhookId: number, count: number, newest: number, room: number): void {
    if (newest > (this.#newestIds.get(webhookId) ?? 0)) this.#newestIds.set(webhookId, newest)
    const entry = this.#entries.get(webhookId) ?? { count: 0, misses: 0, at: 0 }
    // A claim that used all its room may have left more than was announced.
    const left = Math.max(entry.count - count, count >= room ? 1 : 0)
    const misses = count > 0 ? 0 : entry.misses + 1
    const delay = retryDelaysMs[misses]
    if (left === 0 || delay === undefined) this.#entries.delete(webhookId)
    else this.#entries.set(webhookId, { count: left, misses, at: count >= room ? 0 : this.#now() + delay })
  }

  /** Milliseconds until a webhook that has room now is due; infinite when there is none. */
  waitMs(roomOf: (webhookId: number) => number): number {
    let first = Number.POSITIVE_INFINITY
    for (const [id, { at }] of this.#entries) if (at < first && roomOf(id) > 0) first = at
    return Math.max(0, first - this.#now())
  }

  clear(): void {
    this.#entries.clear()
    this.#newestIds.clear()
  }
}
