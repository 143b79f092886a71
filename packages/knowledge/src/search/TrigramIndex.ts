/**
 * The terms of a base by the trigrams in them, so that the terms that are spelled like a word are found. A term has two
 * spaces before it and one after it, so that its beginning and end count. Trigrams compare by a 32-bit hash.
 */

/** Terms outside these lengths, in UTF-16 code units, are not compared. */
export const comparedLengths = { least: 4, most: 40 } as const

/** A term that is spelled like a word. */
export interface SimilarTerm {
  /** The number of the term in its base. */
  readonly term: number
  /** From 0 to 1. */
  readonly similarity: number
}

/** Terms that are less alike are not similar. */
const minSimilarity = 0.4
/** What one word of which the other is a part counts, as in a compound. */
const partSimilarity = 0.7
/** Shorter words are in too many others. */
const minPart = 5
/** Similar terms of a word in one base. */
const maxSimilar = 6
/** A trigram that more terms have is not used: it says little, and comparing all of them takes long. */
const maxTerms = 20_000
/** Terms that are indexed between two steps. */
const termsAtOnce = 1000

const isCompared = (term: string): boolean =>
  term.length >= comparedLengths.least && term.length <= comparedLengths.most

const space = 0x20

/** A hash of three UTF-16 code units; never 0. */
const hashOf = (first: number, second: number, third: number): number => {
  let hash = Math.imul(first, 0x85ebca6b) ^ Math.imul(second, 0xc2b2ae35) ^ Math.imul(third, 0x27d4eb2f)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash ^= hash >>> 13
  return hash >>> 0 || 1
}

/** Calls `use` with each trigram of a term, also repeated ones. */
const eachTrigram = (term: string, use: (trigram: number) => void): void => {
  let [first, second] = [space, space]
  for (let at = 0; at <= term.length; at++) {
    const third = at < term.length ? term.charCodeAt(at) : space
    use(hashOf(first, second, third))
    first = second
    second = third
  }
}

/** Numbers trigrams in the order in which they are added: an open hash table. */
class TrigramNumbers {
  private keys = new Uint32Array(4096)
  private numbers = new Uint32Array(4096)
  size = 0

  get(trigram: number): number | undefined {
    const slot = slotOf(this.keys, trigram)
    return this.keys[slot] === 0 ? undefined : this.numbers[slot]
  }

  add(trigram: number): number {
    if (this.size * 2 >= this.keys.length) this.grow()
    const slot = slotOf(this.keys, trigram)
    if (this.keys[slot] !== 0) return this.numbers[slot] ?? 0
    this.keys[slot] = trigram
    this.numbers[slot] = this.size
    return this.size++
  }

  private grow(): void {
    const { keys, numbers } = this
    this.keys = new Uint32Array(keys.length * 2)
    this.numbers = new Uint32Array(keys.length * 2)
    for (let old = 0; old < keys.length; old++) {
      const key = keys[old] ?? 0
      if (key === 0) continue
      const slot = slotOf(this.keys, key)
      this.keys[slot] = key
      this.numbers[slot] = numbers[old] ?? 0
    }
  }

  get bytes(): number {
    return this.keys.byteLength + this.numbers.byteLength
  }
}

/** Where a key is, or belongs. */
const slotOf = (keys: Uint32Array, key: number): number => {
  const mask = keys.length - 1
  let slot = key & mask
  while (keys[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & mask
  return slot
}

/** Terms of a base; `slice` reads some of them at once. */
export interface Terms {
  readonly count: number
  readonly slice: (from: number, to: number) => ReadonlyArray<string>
}

export class TrigramIndex {
  readonly #numbers: TrigramNumbers
  /** Where the terms of each trigram begin in `#terms`. */
  readonly #starts: Uint32Array
  readonly #terms: Uint16Array | Uint32Array
  readonly #lengths: Uint8Array

  private constructor(
    numbers: TrigramNumbers,
    starts: Uint32Array,
    terms: Uint16Array | Uint32Array,
    lengths: Uint8Array
  ) {
    this.#numbers = numbers
    this.#starts = starts
    this.#terms = terms
    this.#lengths = lengths
  }

  /** Makes the index in steps of about 1 ms, between which the caller may let other work run. */
  static *make(terms: Terms): Generator<undefined, TrigramIndex> {
    const numbers = new TrigramNumbers()
    const lengths = new Uint8Array(terms.count)
    /** The numbers of the trigrams of each term, and where those of a term end. */
    let trigrams = new Uint32Array(16 * 1024)
    const ends = new Uint32Array(terms.count)
    let total = 0
    for (let from = 0; from < terms.count; from += termsAtOnce) {
      for (const [offset, term] of terms.slice(from, from + termsAtOnce).entries()) {
        if (isCompared(term)) {
          lengths[from + offset] = term.length
          if (total + term.length >= trigrams.length) trigrams = doubled(trigrams)
          eachTrigram(term, (trigram) => {
            trigrams[total++] = numbers.add(trigram)
          })
        }
        ends[from + offset] = total
      }
      yield
    }
    const starts = new Uint32Array(numbers.size + 1)
    for (let at = 0; at < total; at++) {
      const next = (trigrams[at] ?? 0) + 1
      starts[next] = (starts[next] ?? 0) + 1
    }
    for (let number = 0; number < numbers.size; number++) {
      starts[number + 1] = (starts[number + 1] ?? 0) + (starts[number] ?? 0)
    }
    yield
    const entries = terms.count <= 0xffff ? new Uint16Array(total) : new Uint32Array(total)
    const places = starts.slice()
    for (let term = 0, at = 0; term < terms.count; term++) {
      for (; at < (ends[term] ?? 0); at++) {
        const number = trigrams[at] ?? 0
        const place = places[number] ?? 0
        entries[place] = term
        places[number] = place + 1
      }
      if (term % (8 * termsAtOnce) === 0) yield
    }
    return new TrigramIndex(numbers, starts, entries, lengths)
  }

  get bytes(): number {
    return this.#numbers.bytes + this.#starts.byteLength + this.#terms.byteLength + this.#lengths.byteLength
  }

  /** The terms that are spelled like a word, but not the word itself: the most similar first, then by number. */
  similar(word: string, wordsTerm: number | undefined): ReadonlyArray<SimilarTerm> {
    const trigrams = new Set<number>()
    eachTrigram(word, (trigram) => trigrams.add(trigram))
    const shared = new Uint8Array(this.#lengths.length)
    const found: Array<number> = []
    for (const trigram of trigrams) {
      const number = this.#numbers.get(trigram)
      if (number === undefined) continue
      const [from, to] = [this.#starts[number] ?? 0, this.#starts[number + 1] ?? 0]
      if (to - from > maxTerms) continue
      let last = -1
      for (let at = from; at < to; at++) {
        const term = this.#terms[at] ?? 0
        // A trigram that a term has twice counts once.
        if (term === last) continue
        last = term
        const count = (shared[term] ?? 0) + 1
        shared[term] = count
        if (count === 2) found.push(term)
      }
    }
    const similar: Array<SimilarTerm> = []
    for (const term of found) {
      if (term === wordsTerm) continue
      const length = this.#lengths[term] ?? 0
      const count = shared[term] ?? 0
      // The ends of a part are trigrams of its own.
      const isPart =
        Math.min(length, word.length) >= minPart && count >= Math.min(trigrams.size, length + 1) - 2
          ? partSimilarity
          : 0
      const similarity = Math.max((2 * count) / (trigrams.size + length + 1), isPart)
      const last = similar.at(-1)
      const isFull = similar.length >= maxSimilar && last !== undefined
      if (similarity < minSimilarity || (isFull && bySimilarity({ term, similarity }, last) > 0)) continue
      similar.push({ term, similarity })
      similar.sort(bySimilarity)
      similar.length = Math.min(similar.length, maxSimilar)
    }
    return similar
  }
}

const bySimilarity = (a: SimilarTerm, b: SimilarTerm): number => b.similarity - a.similarity || a.term - b.term

const doubled = (numbers: Uint32Array): Uint32Array<ArrayBuffer> => {
  const larger = new Uint32Array(numbers.length * 2)
  larger.set(numbers)
  return larger
}
