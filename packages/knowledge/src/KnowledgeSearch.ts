import type { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { byTrigrams, byWords, fused, relevantOf } from "./Ranking.ts"
import { type Scope, SearchRepo } from "./SearchRepo.ts"

/** A passage that was found. */
export interface FoundPassage {
  /** The name of its base. */
  readonly knowledge_base: string
  readonly heading: string | null
  readonly text: string
  /** From 0 to 1, for comparison within one search. */
  readonly score: number
}

/** What a search found. */
export interface Found {
  /** How many bases were searched. */
  readonly bases: number
  /** Best first. */
  readonly passages: ReadonlyArray<FoundPassage>
}

/** Characters of a query that are used: the last ones, because a caller asks at the end. */
const maxQuery = 500
/** Terms of a query that are compared by trigrams: the longest ones. */
const maxTerms = 5
/** Shorter terms are not compared by trigrams: too many are similar. */
const minSimilar = 4
/** In smaller bases every term is compared, which finds the parts of compounds; in larger ones those that no passage has. */
const smallBases = 500

/**
 * Finds passages of knowledge bases for a text, such as what a caller says. Two rankings are fused: by the words of the query, stemmed
 * by the language of each base, and by similar words, which forgives spelling and finds the parts of compounds.
 */
export class KnowledgeSearch extends Context.Tag("@svc/knowledge/KnowledgeSearch")<
  KnowledgeSearch,
  { readonly search: (scope: Scope, text: string, limit: number) => Effect.Effect<Found> }
>() {
  static readonly layer: Layer.Layer<KnowledgeSearch, never, SqlClient.SqlClient> = Layer.effect(
    KnowledgeSearch,
    Effect.gen(function* () {
      const repo = yield* SearchRepo
      const search = Effect.fn("KnowledgeSearch.search")(function* (scope: Scope, text: string, limit: number) {
        // Texts of PostgreSQL cannot contain NUL.
        const query = text.replaceAll("\0", " ").slice(-maxQuery).toWellFormed()
        const { bases, rows, terms } = yield* repo.query(scope, query)
        const names = new Map(bases.map(({ id, name }) => [id, name]))
        const known = new Set(rows.map(({ term }) => term))
        const isSmall = bases.reduce((sum, { passages }) => sum + passages, 0) <= smallBases
        const unknown = terms
          .filter((term) => term.length >= minSimilar && term.length <= 40 && (isSmall || !known.has(term)))
          .toSorted((a, b) => b.length - a.length)
          .slice(0, maxTerms)
        const similar = yield* repo.similar([...names.keys()], unknown)
        const rankings = [
          relevantOf(byWords(bases, rows)),
          ...(similar.length === 0 ? [] : [relevantOf(byTrigrams(bases, rows, similar))])
        ].filter(({ length }) => length > 0)
        const best = fused(rankings).slice(0, limit)
        const found = yield* repo.passages(best)
        const passages = best.flatMap(({ base_id, position, score }) => {
          const passage = found.find((row) => row.base_id === base_id && row.position === position)
          const knowledge_base = names.get(base_id)
          if (passage === undefined || knowledge_base === undefined) return []
          return [
            { knowledge_base, heading: passage.heading, text: passage.text, score: Math.round(score * 1000) / 1000 }
          ]
        })
        return { bases: bases.length, passages }
      })
      return { search }
    })
  ).pipe(Layer.provide(SearchRepo.layer))
}
