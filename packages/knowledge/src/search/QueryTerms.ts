import { yieldThread } from "@svc/api/JsonLimits"
import { Effect } from "effect"
import type { BaseIndex } from "./BaseIndex.ts"
import type { TermOfBase } from "./Ranking.ts"
import { comparedLengths, type SimilarTerm, type TrigramIndex } from "./TrigramIndex.ts"

/** A term that more passages of a base have is not used: it says little, and its postings are long. */
const commonTerm = 0.5
/** A term of so few passages is never too common. */
const fewPassages = 20
/** Postings that a ranking reads, so that it does not hold up the calls of this process. */
const maxPostings = 100_000
/** Terms of a query that are compared by trigrams: the longest ones. */
const maxUnknown = 5
/** In smaller bases every term is compared, which finds the parts of compounds; in larger ones those that no passage has. */
const smallBases = 500
/** Terms of bases that are compared between two pauses: at most about 1 ms. */
const comparedAtOnce = 100_000

type Indexes = ReadonlyMap<number, BaseIndex>

const byName = (a: TermOfBase, b: TermOfBase): number =>
  a.passages - b.passages || (a.term < b.term ? -1 : a.term > b.term ? 1 : a.base_id - b.base_id)

/** The first terms whose postings are not too many together. */
const limited = (rows: ReadonlyArray<TermOfBase>): ReadonlyArray<TermOfBase> => {
  let total = 0
  const end = rows.findIndex(({ passages }) => {
    total += passages
    return total > maxPostings
  })
  return end === -1 ? rows : rows.slice(0, end)
}

const rowOf = (base_id: number, index: BaseIndex, number: number): Omit<TermOfBase, "wanted" | "similarity"> => ({
  base_id,
  term: index.term(number),
  passages: index.having(number),
  postings: index.postings(number)
})

/** The terms of a query that bases have, the rarest first. */
export const knownTerms = (indexes: Indexes, terms: ReadonlyArray<string>): ReadonlyArray<TermOfBase> => {
  const rows: Array<TermOfBase> = []
  for (const [base_id, index] of indexes) {
    const most = Math.max(fewPassages, commonTerm * index.passages)
    for (const term of terms) {
      const number = index.find(term)
      if (number === undefined || index.having(number) > most) continue
      rows.push({ ...rowOf(base_id, index, number), wanted: term, similarity: 1 })
    }
  }
  return limited(rows.sort(byName))
}

/** The terms of a query that are compared with those of the bases, because no passage has them. */
export const unknownTerms = (
  indexes: Indexes,
  terms: ReadonlyArray<string>,
  known: ReadonlyArray<TermOfBase>
): ReadonlyArray<string> => {
  const found = new Set(known.map(({ term }) => term))
  let passages = 0
  for (const index of indexes.values()) passages += index.passages
  return terms
    .filter(({ length }) => length >= comparedLengths.least && length <= comparedLengths.most)
    .filter((term) => passages <= smallBases || !found.has(term))
    .toSorted((a, b) => b.length - a.length)
    .slice(0, maxUnknown)
}

/** The terms of bases that are spelled like a term of the query, the most similar first. */
export const similarTerms = Effect.fnUntraced(function* (
  indexes: Indexes,
  unknown: ReadonlyArray<string>,
  trigramsOf: (id: number, index: BaseIndex) => Effect.Effect<TrigramIndex>
) {
  const rows: Array<TermOfBase> = []
  let compared = 0
  for (const [base_id, index] of unknown.length === 0 ? [] : indexes) {
    const trigrams = yield* trigramsOf(base_id, index)
    for (const wanted of unknown) {
      const similar: ReadonlyArray<SimilarTerm> = trigrams.similar(wanted, index.find(wanted))
      for (const { similarity, term } of similar) rows.push({ ...rowOf(base_id, index, term), wanted, similarity })
      compared += index.count
      if (compared < comparedAtOnce) continue
      compared = 0
      yield* yieldThread
    }
  }
  return limited(rows.sort((a, b) => b.similarity - a.similarity || byName(a, b)))
})
