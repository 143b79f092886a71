import { createHash } from "node:crypto"
import { yieldThread } from "@svc/api/JsonLimits"
import type { KnowledgeEntry } from "@svc/api/knowledge/KnowledgeBaseFields"
import { Effect } from "effect"
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
/** The work between two pauses, at most about 2 ms: a step of the cutter costs half of it, a passage its characters. */
const workAtOnce = 32_768
const passageCost = 500

const hashOf = ({ heading, text }: Passage): string =>
  createHash("sha256")
    .update(heading ?? "")
    .update("\0")
    .update(text)
    .digest("hex")

/** A text of a base, and the page it was read from. */
export interface Source {
  readonly heading: string | null
  readonly text: string
  readonly url: string | null
}

function* passagesOf(sources: Iterable<Source>): Generator<(Passage & { readonly url: string | null }) | undefined> {
  for (const { heading, text, url } of sources) {
    for (const passage of cutText(text, heading)) yield passage === undefined ? undefined : { ...passage, url }
  }
}

/** Cuts texts into passages, in steps between which the thread does other work. */
export const newPassages = Effect.fn("newPassages")(function* (sources: Iterable<Source>) {
  const passages: Array<NewPassage> = []
  const hashes = new Set<string>()
  let cost = 0
  for (const passage of passagesOf(sources)) {
    if (passage === undefined) cost += workAtOnce / 2
    else {
      const content_hash = hashOf(passage)
      if (!hashes.has(content_hash)) {
        hashes.add(content_hash)
        if (passages.length < maxPassages) {
          passages.push({ heading: passage.heading, text: passage.text, content_hash, source_url: passage.url })
        }
      }
      cost += passage.text.length + passageCost
    }
    if (cost >= workAtOnce) {
      cost = 0
      yield* yieldThread
    }
  }
  const made: NewPassages = { passages, truncated: hashes.size - passages.length }
  return made
})

/** The passages of a text of a customer. */
export const passagesOfText = (content: string): Effect.Effect<NewPassages> =>
  newPassages([{ heading: null, text: content, url: null }])

/** The passages of question-answer pairs: the question is the heading of each passage of its answer. */
export const passagesOfEntries = (entries: ReadonlyArray<KnowledgeEntry>): Effect.Effect<NewPassages> =>
  newPassages(entries.map(({ answer, question }) => ({ heading: question.trim(), text: answer, url: null })))
