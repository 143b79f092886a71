import { type Terms, TrigramIndex } from "./TrigramIndex.ts"

/** A row of `knowledge_indexes`; see the migration knowledge_index_rows. */
export interface IndexRow {
  readonly version: number
  readonly passages: number
  readonly terms: string
  readonly counts: Uint8Array
  readonly postings: Uint8Array
}

/** Bytes of a posting: the position and the weight. */
export const postingBytes = 4

const newline = 0x0a

/** The index of one base in memory: its terms, and the passages that have them. */
export class BaseIndex {
  readonly version: number
  /** The number of passages of the base. */
  readonly passages: number
  /** UTF-8, one a line, in the order of their bytes. */
  readonly #terms: Buffer
  /** Where each term ends in `#terms`. */
  readonly #ends: Uint32Array
  /** Where the postings of each term begin, counted in postings. */
  readonly #starts: Uint32Array
  readonly #postings: Uint8Array
  #trigrams: TrigramIndex | undefined

  constructor({ counts, passages, postings, terms, version }: IndexRow) {
    this.version = version
    this.passages = passages
    this.#terms = Buffer.from(terms)
    this.#postings = postings
    const count = counts.length / 2
    this.#ends = new Uint32Array(count)
    this.#starts = new Uint32Array(count + 1)
    let end = -1
    for (let term = 0; term < count; term++) {
      end = this.#terms.indexOf(newline, end + 1)
      this.#ends[term] = end === -1 ? this.#terms.length : end
      const size = ((counts[2 * term] ?? 0) << 8) | (counts[2 * term + 1] ?? 0)
      this.#starts[term + 1] = (this.#starts[term] ?? 0) + size
    }
  }

  get count(): number {
    return this.#ends.length
  }

  /** The number of a term, if a passage has it. */
  find(term: string): number | undefined {
    const wanted = Buffer.from(term)
    let low = 0
    let high = this.count - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const order = this.#terms.compare(wanted, 0, wanted.length, this.#begin(middle), this.#ends[middle])
      if (order === 0) return middle
      if (order < 0) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }

  term(number: number): string {
    return this.#terms.toString("utf8", this.#begin(number), this.#ends[number])
  }

  /** How many passages have a term. */
  having(number: number): number {
    return (this.#starts[number + 1] ?? 0) - (this.#starts[number] ?? 0)
  }

  /** See the migration knowledge_index: 4 bytes for each passage, the position and the weight. */
  postings(number: number): Uint8Array {
    const [from, to] = [this.#starts[number] ?? 0, this.#starts[number + 1] ?? 0]
    return this.#postings.subarray(from * postingBytes, to * postingBytes)
  }

  /** Undefined until `makeTrigrams` has ended. */
  get trigrams(): TrigramIndex | undefined {
    return this.#trigrams
  }

  /** In steps, as `TrigramIndex.make`. */
  *makeTrigrams(): Generator<undefined, TrigramIndex> {
    const terms: Terms = {
      count: this.count,
      slice: (from, to) => {
        const last = Math.min(to, this.count) - 1
        return this.#terms.toString("utf8", this.#begin(from), this.#ends[last]).split("\n")
      }
    }
    const made = yield* TrigramIndex.make(terms)
    this.#trigrams = made
    return made
  }

  /** About how much memory it takes. */
  get bytes(): number {
    const own = this.#terms.length + this.#ends.byteLength + this.#starts.byteLength + this.#postings.byteLength
    return 1000 + own + (this.#trigrams?.bytes ?? 0)
  }

  #begin(term: number): number {
    return term === 0 ? 0 : (this.#ends[term - 1] ?? 0) + 1
  }
}
