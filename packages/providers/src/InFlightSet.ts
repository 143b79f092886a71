interface Entry<A> {
  readonly value: A
  before: Entry<A> | undefined
  after: Entry<A> | undefined
}

/**
 * Objects that are each in progress for a short time, in the order in which they began. Unlike a `Set` it leaves nothing
 * behind for the garbage collector: V8 gives a `Set` or `Map` a new table after as many removals as it has room, each old
 * table refers to the next one, and a dead one in the old generation so keeps alive what was in all later ones. With a
 * `Set`, most of what requests allocate outlives them by minutes.
 */
export class InFlightSet<A> implements Iterable<A> {
  #first: Entry<A> | undefined
  #last: Entry<A> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds a value, which may be there already. The result removes it; a second time it does nothing. */
  add(value: A): () => void {
    const entry: Entry<A> = { value, before: this.#last, after: undefined }
    if (this.#last === undefined) this.#first = entry
    else this.#last.after = entry
    this.#last = entry
    this.#size += 1
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      this.#remove(entry)
    }
  }

  #remove(entry: Entry<A>): void {
    const { after, before } = entry
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    // An entry in the old generation must not keep its neighbours alive.
    entry.before = undefined
    entry.after = undefined
    this.#size -= 1
  }

  /** The values that are there now: adding and removing while they are used changes nothing. */
  [Symbol.iterator](): IterableIterator<A> {
    const values: Array<A> = []
    for (let at = this.#first; at !== undefined; at = at.after) values.push(at.value)
    return values.values()
  }
}
