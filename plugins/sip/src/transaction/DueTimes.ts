interface Due {
  readonly key: string
  at: number
}

/**
 * When each of many keys is due, as a binary heap: a change takes logarithmic time, and reading the earliest time constant
 * time. Times are in any one unit; a key with an infinite time is removed.
 */
export class DueTimes {
  readonly #heap: Array<Due> = []
  readonly #positions = new Map<string, number>()

  /** The earliest time; infinite: nothing is due. */
  get earliest(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY
  }

  get size(): number {
    return this.#heap.length
  }

  /** Sets or replaces the time of a key. */
  set(key: string, at: number): void {
    if (at === Number.POSITIVE_INFINITY) {
      this.delete(key)
      return
    }
    const position = this.#positions.get(key)
    const due = position === undefined ? undefined : this.#heap[position]
    if (due === undefined || position === undefined) {
      this.#heap.push({ key, at })
      this.#positions.set(key, this.#heap.length - 1)
      this.#rise(this.#heap.length - 1)
      return
    }
    due.at = at
    this.#settle(position)
  }

  delete(key: string): void {
    const position = this.#positions.get(key)
    const last = this.#heap.length - 1
    if (position === undefined) return
    this.#swap(position, last)
    this.#heap.pop()
    this.#positions.delete(key)
    if (position < last) this.#settle(position)
  }

  /** Removes the keys that are due until this time, and gives them in the order of their times. */
  take(now: number): ReadonlyArray<string> {
    const taken: Array<string> = []
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      taken.push(first.key)
      this.delete(first.key)
    }
    return taken
  }

  #settle(position: number): void {
    this.#rise(position)
    this.#sink(position)
  }

  #rise(from: number): void {
    let position = from
    while (position > 0) {
      const parent = (position - 1) >> 1
      if (this.#at(parent) <= this.#at(position)) return
      this.#swap(parent, position)
      position = parent
    }
  }

  #sink(from: number): void {
    let position = from
    for (;;) {
      const left = 2 * position + 1
      const least = this.#at(left + 1) < this.#at(left) ? left + 1 : left
      if (this.#at(least) >= this.#at(position)) return
      this.#swap(least, position)
      position = least
    }
  }

  #at(position: number): number {
    return this.#heap[position]?.at ?? Number.POSITIVE_INFINITY
  }

  #swap(one: number, other: number): void {
    const [left, right] = [this.#heap[one], this.#heap[other]]
    if (left === undefined || right === undefined) return
    this.#heap[one] = right
    this.#heap[other] = left
    this.#positions.set(right.key, one)
    this.#positions.set(left.key, other)
  }
}
