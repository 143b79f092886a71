import { yieldThread } from "@svc/api/JsonLimits"
import type { KnowledgeEntry } from "@svc/api/knowledge/KnowledgeBaseFields"
import { Effect } from "effect"
import { type NewPassages, PassageCollection, passagesOf, type Source } from "./PassageCollection.ts"

/** The work between two pauses, at most about 2 ms: a step of the cutter costs half of it, a passage its characters. */
const workAtOnce = 32_768
const passageCost = 500

/** Cuts texts into passages, in steps between which the thread does other work. */
const collect = Effect.fn("collectPassages")(function* (sources: Iterable<Source>) {
  const collection = new PassageCollection()
  let cost = 0
  for (const passage of passagesOf(sources)) {
    if (passage !== undefined) collection.add(passage)
    cost += passage === undefined ? workAtOnce / 2 : passage.text.length + passageCost
    if (cost < workAtOnce) continue
    cost = 0
    yield* yieldThread
  }
  return collection
})

/** The passages of a text of a customer. */
export const passagesOfText = (content: string): Effect.Effect<NewPassages> =>
  collect([{ heading: null, text: content, url: null }])

/** The passages of question-answer pairs: the question is the heading of each passage of its answer. */
export const passagesOfEntries = (entries: ReadonlyArray<KnowledgeEntry>): Effect.Effect<NewPassages> =>
  collect(entries.map(({ answer, question }) => ({ heading: question.trim(), text: answer, url: null })))
