/** A cache of items, limited by their bytes. It evicts the least recently used item first. */
export class PreviewCache<A extends { readonly bytes: Uint8Array }> {
  readonly #room: number
  readonly #items = new Map<string, A>()
  #used = 0

  constructor(room: number) {
    this.#room = room
  }

  /** Bytes of all items. */
  get used(): number {
    return this.#used
  }

  get(key: string): A | undefined {
    const item = this.#items.get(key)
    if (item === undefined) return undefined
    // A map keeps the order of insertion: the newest is last.
    this.#items.delete(key)
    this.#items.set(key, item)
    return item
  }

  /** Adds an item under a key that has none. */
  put(key: string, item: A): void {
    this.#items.set(key, item)
    this.#used += item.bytes.length
    for (const [oldest, { bytes }] of this.#items) {
      if (this.#used <= this.#room) return
      this.#items.delete(oldest)
      this.#used -= bytes.length
    }
  }
}
