/** Remembers the newest of some ids. */
export class SeenEvents {
  readonly #ids = new Set<string>()
  readonly #most: number

  constructor(most = 10_000) {
    this.#most = most
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  /** False: it was there already. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    const [oldest] = this.#ids
    if (this.#ids.size > this.#most && oldest !== undefined) this.#ids.delete(oldest)
    return true
  }
}
