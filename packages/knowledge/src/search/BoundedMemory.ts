/** A value that is kept, and about how much memory it takes. */
export interface Sized {
  readonly bytes: number
}

/** Keeps values up to a number of bytes together. Those that were not used for longest are dropped first. */
export class BoundedMemory<K, V extends Sized> {
  readonly #maxBytes: number
  /** In the order of their last use. */
  readonly #values = new Map<K, { readonly value: V; readonly bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: K): V | undefined {
    const entry = this.#values.get(key)
    if (entry === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, entry)
    return entry.value
  }

  /** Keeps a value in place of the one before. To be repeated when its size changes. */
  set(key: K, value: V): void {
    this.#drop(key)
    this.#values.set(key, { value, bytes: value.bytes })
    this.#bytes += value.bytes
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#drop(oldest)
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  #drop(key: K): void {
    this.#bytes -= this.#values.get(key)?.bytes ?? 0
    this.#values.delete(key)
  }
}
