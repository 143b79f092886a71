import type { NewDeliveries } from "./DeliveryFanOut.ts"

/**
 * How soon to look again for what was announced and not found, in milliseconds: its transaction soon ends. After the last
 * it is left to those who look at everything.
 */
const pauses = [2, 3, 5, 10, 20, 40, 80] as const

/** Ids further below one that was found are not looked at again: a transaction that wrote them would have lasted long. */
const late = 10_000

interface Entry {
  /** Deliveries that are to be found. */
  count: number
  /** How often in a row there was none. */
  vain: number
  /** When to look, in milliseconds. */
  at: number
}

/**
 * Which webhooks have deliveries in the queue, as far as this process knows: for those it looks at once. What it does
 * not know of, because another process wrote it or gave it back, is found by looking at everything now and then.
 */
export class Owing {
  readonly #entries = new Map<number, Entry>()
  readonly #newest = new Map<number, number>()
  readonly #now: () => number

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Announced. What is not committed yet cannot be found at once. */
  add(owed: NewDeliveries, isCommitted: boolean): void {
    const at = this.#now() + (isCommitted ? 0 : pauses[0])
    for (const [id, n] of owed) {
      const before = this.#entries.get(id)
      this.#entries.set(id, { count: n + (before?.count ?? 0), vain: 0, at: Math.min(before?.at ?? at, at) })
    }
  }

  /** Those to look for now and for which there is room, with how much. */
  open(roomOf: (webhookId: number) => number): ReadonlyMap<number, number> {
    const now = this.#now()
    const open = new Map<number, number>()
    for (const [id, { at }] of this.#entries) {
      const room = at <= now ? roomOf(id) : 0
      if (room > 0) open.set(id, room)
    }
    return open
  }

  /**
   * Deliveries of a webhook whose ids are not higher were found, but for such as an earlier look could not see and a look
   * at everything will. The queue is full of the remains of what was delivered, which cost time to pass over.
   */
  floorOf(webhookId: number): number {
    return (this.#newest.get(webhookId) ?? 0) - late
  }

  /** So many were found for a webhook, this the newest, when there was room for so many. */
  found(webhookId: number, count: number, newest: number, room: number): void {
    if (newest > (this.#newest.get(webhookId) ?? 0)) this.#newest.set(webhookId, newest)
    const entry = this.#entries.get(webhookId) ?? { count: 0, vain: 0, at: 0 }
    // There may be more than was announced when there was no room for all.
    const left = Math.max(entry.count - count, count >= room ? 1 : 0)
    const vain = count > 0 ? 0 : entry.vain + 1
    const pause = pauses[vain]
    if (left === 0 || pause === undefined) this.#entries.delete(webhookId)
    else this.#entries.set(webhookId, { count: left, vain, at: count >= room ? 0 : this.#now() + pause })
  }

  /** Milliseconds until there is something to look for, of what there is room for now; infinite when there is nothing. */
  waitMs(roomOf: (webhookId: number) => number): number {
    let first = Number.POSITIVE_INFINITY
    for (const [id, { at }] of this.#entries) if (at < first && roomOf(id) > 0) first = at
    return Math.max(0, first - this.#now())
  }

  clear(): void {
    this.#entries.clear()
    this.#newest.clear()
  }
}
