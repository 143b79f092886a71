/** The SIDs that were added last. */
export class RecentSids {
  /** The oldest first. */
  readonly #sids = new Set<string>()
  readonly #limit: number

  /** `limit`: how many SIDs are remembered. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#sids.size
  }

  has(sid: string): boolean {
    return this.#sids.has(sid)
  }

  /** Forgets the oldest one when there are too many. */
  add(sid: string): void {
    this.#sids.add(sid)
    const [oldest] = this.#sids
    if (this.#sids.size > this.#limit && oldest !== undefined) this.#sids.delete(oldest)
  }

  delete(sid: string): void {
    this.#sids.delete(sid)
  }
}
