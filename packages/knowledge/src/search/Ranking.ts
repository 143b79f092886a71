import { postingBytes } from "./BaseIndex.ts"

/** Passages ranked by how well they fit a query: the rarity of its terms, and how much each passage has of them. Pure. */

/** The place of a passage. */
export interface Place {
  readonly base_id: number
  readonly position: number
}

export interface Ranked extends Place {
  readonly score: number
}

/** A base that is searched, and the number of its passages. */
interface RankedBase {
  readonly id: number
  readonly passages: number
}

/** A term of a query, or one like it, and the passages of a base that have it. */
export interface TermOfBase {
  readonly base_id: number
  readonly term: string
  /** The number of passages with the term. */
  readonly passages: number
  /** See the migration knowledge_index: 4 bytes for each passage, the position and the weight. */
  readonly postings: Uint8Array
  /** The term of the query. */
  readonly wanted: string
  /** From 0 to 1. */
  readonly similarity: number
}

/** Passages of a ranking that are considered further. */
const considered = 50
/** The damping of reciprocal rank fusion; see Cormack, Clarke and Büttcher, SIGIR 2009. */
const damping = 60
/** The damping, and the weight of vectors beside words: the first two by vectors are among the first five. */
const [vectorDamping, vectorWeight] = [5, 0.8]
/** A passage has less of the query than this share of the best one: it is about something else. */
const relevant = 0.25

/** The rarity of a term in all the bases: the more passages have it, the less it says. */
const rarity = (all: number, having: number): number => Math.log(1 + (all - having + 0.5) / (having + 0.5))

/**
 * The best passages, by BM25 over all bases together. For each wanted term a passage counts its most similar term.
 */
export const byTerms = (bases: ReadonlyArray<RankedBase>, rows: ReadonlyArray<TermOfBase>): ReadonlyArray<Ranked> => {
  const all = bases.reduce((sum, { passages }) => sum + passages, 0)
  const having = new Map<string, number>()
  const groups = new Map<string, Array<TermOfBase>>()
  for (const row of rows) {
    const key = `${row.wanted} ${row.term}`
    having.set(key, (having.get(key) ?? 0) + row.passages)
    const group = `${row.base_id} ${row.wanted}`
    const others = groups.get(group)
    if (others === undefined) groups.set(group, [row])
    else others.push(row)
  }
  const scores = new Map(bases.map(({ id, passages }) => [id, new Float64Array(passages)]))
  for (const group of groups.values()) {
    const score = scores.get(group[0]?.base_id ?? 0)
    if (score === undefined) continue
    // The best so far of the wanted term: terms that are alike do not add up.
    const best = group.length > 1 ? new Float64Array(score.length) : undefined
    for (const { passages, postings, similarity, term, wanted } of group) {
      const weight = (rarity(all, having.get(`${wanted} ${term}`) ?? passages) * similarity) / 1000
      for (let at = 0; at + postingBytes <= postings.length; at += postingBytes) {
        const position = ((postings[at] ?? 0) << 8) | (postings[at + 1] ?? 0)
        if (position >= score.length) continue
        const value = (((postings[at + 2] ?? 0) << 8) | (postings[at + 3] ?? 0)) * weight
        const old = best?.[position] ?? 0
        if (value <= old) continue
        if (best !== undefined) best[position] = value
        score[position] = (score[position] ?? 0) + value - old
      }
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

/** A ranking, and how much it counts beside others. */
interface WeightedRanking {
  readonly places: ReadonlyArray<Place>
  readonly weight: number
}

/** Joins rankings, without those that are empty. Scores are from 0 to 1: 1 is first in each. */
const fuse = (all: ReadonlyArray<WeightedRanking>, damping: number): ReadonlyArray<Ranked> => {
  const rankings = all.filter(({ places }) => places.length > 0)
  const total = rankings.reduce((sum, { weight }) => sum + weight, 0)
  const scores = new Map<string, Ranked>()
  for (const { places, weight } of rankings) {
    for (const [index, { base_id, position }] of places.entries()) {
      const key = `${base_id} ${position}`
      const share = ((damping + 1) / (damping + 1 + index)) * (weight / total)
      scores.set(key, { base_id, position, score: share + (scores.get(key)?.score ?? 0) })
    }
  }
  return [...scores.values()].sort(byScore)
}

/** Joins the rankings by words and by similar words, by reciprocal rank fusion. */
export const fused = (rankings: ReadonlyArray<ReadonlyArray<Place>>): ReadonlyArray<Ranked> =>
  fuse(
    rankings.map((places) => ({ places, weight: 1 })),
    damping
  )

/** Joins the ranking by words with that by vectors. The first places count more: see docs/decisions/0024-vectors-by-codes.md. */
export const withVectors = (byWords: ReadonlyArray<Ranked>, byVectors: ReadonlyArray<Place>): ReadonlyArray<Ranked> =>
  byVectors.length === 0
    ? byWords
    : fuse(
        [
          { places: byWords, weight: 1 },
          { places: byVectors, weight: vectorWeight }
        ],
        vectorDamping
      )

/** Without the passages that have much less of the query than the best one. */
export const relevantOf = (ranked: ReadonlyArray<Ranked>): ReadonlyArray<Ranked> =>
  ranked.filter(({ score }) => score >= relevant * (ranked[0]?.score ?? 0))
