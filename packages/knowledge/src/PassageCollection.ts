import { createHash } from "node:crypto"
import { cutText, type Passage } from "./PassageCutter.ts"

/** A passage as it is stored. */
export interface NewPassage extends Passage {
  /** SHA-256 of heading and text, in hexadecimal. */
  readonly content_hash: string
  readonly source_url: string | null
}

/** The passages of a base, each once, and how many more there would be. */
export interface NewPassages {
  readonly passages: ReadonlyArray<NewPassage>
  readonly truncated: number
}

/** Most passages of a base. */
export const maxPassages = 2000

const hashOf = ({ heading, text }: Passage): string =>
  createHash("sha256")
    .update(heading ?? "")
    .update("\0")
    .update(text)
    .digest("hex")

/** Collects the passages of a base: each once, and at most {@link maxPassages}. */
export class PassageCollection implements NewPassages {
  readonly passages: Array<NewPassage> = []
  readonly #hashes = new Set<string>()
  #cutOff = 0

  get truncated(): number {
    return this.#hashes.size - this.passages.length + this.#cutOff
  }

  add(passage: NewPassage): void {
    if (this.#hashes.has(passage.content_hash)) return
    this.#hashes.add(passage.content_hash)
    if (this.passages.length < maxPassages) this.passages.push(passage)
  }

  /** Adds the passages of a part of the base, with those that were cut off there. */
  addAll({ passages, truncated }: NewPassages): void {
    for (const passage of passages) this.add(passage)
    this.#cutOff += truncated
  }
}

/** A text of a base, and the page it was read from. */
export interface Source {
  readonly heading: string | null
  readonly text: string
  readonly url: string | null
}

/** The passages of texts; undefined where the caller may let other work run, as `cutText` does. */
export function* passagesOf(sources: Iterable<Source>): Generator<NewPassage | undefined> {
  for (const { heading, text, url } of sources) {
    for (const passage of cutText(text, heading)) {
      yield passage === undefined ? undefined : { ...passage, content_hash: hashOf(passage), source_url: url }
    }
  }
}
