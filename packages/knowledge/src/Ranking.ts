import type { Place, SearchedBase, SimilarRow, TermRow } from "./SearchRepo.ts"

/** Passages ranked by how well they fit a query: the rarity of its terms, and how much each passage has of them. Pure. */

export interface Ranked extends Place {
  readonly score: number
}

/** A term of a query, or one like it. */
interface Weighted extends TermRow {
  readonly wanted: string
  /** From 0 to 1. */
  readonly similarity: number
}

/** Passages of a ranking that are considered further. */
const considered = 50
/** The damping of reciprocal rank fusion; see Cormack, Clarke and Büttcher, SIGIR 2009. */
const damping = 60
/** A passage has less of the query than this share of the best one: it is about something else. */
const relevant = 0.25

/** The rarity of a term in all the bases: the more passages have it, the less it says. */
const rarity = (all: number, having: number): number => Math.log(1 + (all - having + 0.5) / (having + 0.5))

/**
 * The best passages, by BM25 over all bases together. For each wanted term a passage counts its most similar term.
 */
const ranking = (bases: ReadonlyArray<SearchedBase>, rows: ReadonlyArray<Weighted>): ReadonlyArray<Ranked> => {
  const all = bases.reduce((sum, { passages }) => sum + passages, 0)
  const having = new Map<string, number>()
  for (const { passages, term, wanted } of rows) {
    const key = `${wanted} ${term}`
    having.set(key, (having.get(key) ?? 0) + passages)
  }
  const sizes = new Map(bases.map(({ id, passages }) => [id, passages]))
  const scores = new Map<number, Float64Array>()
  const byRarity = rows
    .map((row) => ({ ...row, weight: rarity(all, having.get(`${row.wanted} ${row.term}`) ?? 1) * row.similarity }))
    .sort((a, b) => b.weight - a.weight)
  // The best so far of a wanted term, by place: terms that are alike do not add up.
  const counted = new Map<string, Float64Array>()
  for (const { base_id, postings, wanted, weight } of byRarity) {
    const size = sizes.get(base_id) ?? 0
    const score = scores.get(base_id) ?? new Float64Array(size)
    scores.set(base_id, score)
    const key = `${base_id} ${wanted}`
    const before = counted.get(key)
    const best = before ?? new Float64Array(size)
    if (before === undefined) counted.set(key, best)
    for (let at = 0; at + 4 <= postings.length; at += 4) {
      const position = ((postings[at] ?? 0) << 8) | (postings[at + 1] ?? 0)
      const value = ((((postings[at + 2] ?? 0) << 8) | (postings[at + 3] ?? 0)) / 1000) * weight
      const old = best[position] ?? 0
      if (position >= size || value <= old) continue
      best[position] = value
      score[position] = (score[position] ?? 0) + value - old
    }
  }
  const ranked: Array<Ranked> = []
  let least = 0
  for (const [base_id, score] of scores) {
    for (let position = 0; position < score.length; position++) {
      const value = score[position] ?? 0
      if (value <= least) continue
      ranked.push({ base_id, position, score: value })
      if (ranked.length < 4 * considered) continue
      ranked.sort(byScore)
      ranked.length = considered
      least = ranked.at(-1)?.score ?? 0
    }
  }
  return ranked.sort(byScore).slice(0, considered)
}

const byScore = (a: Ranked, b: Ranked): number => b.score - a.score || a.base_id - b.base_id || a.position - b.position

/** Joins rankings by reciprocal rank fusion. Scores are from 0 to 1: 1 is first in every ranking. */
export const fused = (rankings: ReadonlyArray<ReadonlyArray<Place>>): ReadonlyArray<Ranked> => {
  const scores = new Map<string, Ranked>()
  for (const places of rankings) {
    for (const [index, { base_id, position }] of places.entries()) {
      const key = `${base_id} ${position}`
      const score = (damping + 1) / (damping + 1 + index) / rankings.length + (scores.get(key)?.score ?? 0)
      scores.set(key, { base_id, position, score })
    }
  }
  return [...scores.values()].sort(byScore)
}

/** The passages with the words of the query, best first. */
export const byWords = (bases: ReadonlyArray<SearchedBase>, rows: ReadonlyArray<TermRow>): ReadonlyArray<Ranked> =>
  ranking(
    bases,
    rows.map((row) => ({ ...row, wanted: row.term, similarity: 1 }))
  )

/** The passages with the words of the query or similar ones, best first. */
export const byTrigrams = (
  bases: ReadonlyArray<SearchedBase>,
  rows: ReadonlyArray<TermRow>,
  similar: ReadonlyArray<SimilarRow>
): ReadonlyArray<Ranked> =>
  ranking(bases, [...rows.map((row) => ({ ...row, wanted: row.term, similarity: 1 })), ...similar])

/** Without the passages that have much less of the query than the best one. */
export const relevantOf = (ranked: ReadonlyArray<Ranked>): ReadonlyArray<Ranked> =>
  ranked.filter(({ score }) => score >= relevant * (ranked[0]?.score ?? 0))
