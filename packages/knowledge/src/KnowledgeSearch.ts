import type { SqlClient } from "@effect/sql"
import { Context, Duration, Effect, Either, Fiber, Layer } from "effect"
import { BaseIndexes } from "./search/BaseIndexes.ts"
import { knownTerms, similarTerms, unknownTerms } from "./search/QueryTerms.ts"
import { byTerms, fused, relevantOf, withVectors } from "./search/Ranking.ts"
import { type Scope, SearchRepo } from "./search/SearchRepo.ts"
import { VectorSearch, type VectorsFailed } from "./vectors/VectorSearch.ts"

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
  /** Why the vectors were not searched although the bases have some, or null. */
  readonly without_vectors: string | null
}

/** Characters of a query that are used: the last ones, because a caller asks at the end. */
const maxQuery = 500
/** How long a search waits for the vector of the question. The model waits 150 ms for all of it. */
const defaultPatience = Duration.millis(100)

/**
 * Finds passages of knowledge bases for a text, such as what a caller says. Rankings are fused: by the words of the query,
 * stemmed by the language of each base; by similar words, which forgives spelling and finds the parts of compounds; and by
 * vectors, when a plugin provides `embedding`.
 */
export class KnowledgeSearch extends Context.Tag("@svc/knowledge/KnowledgeSearch")<
  KnowledgeSearch,
  {
    /** `patience`: how long to wait for the vector of the text. */
    readonly search: (scope: Scope, text: string, limit: number, patience?: Duration.Duration) => Effect.Effect<Found>
    /** Reads what the next searches in these bases need, so that the first one does not have to wait for it. */
    readonly prepare: (scope: Scope) => Effect.Effect<void>
  }
>() {
  /** On the parts that tests replace. */
  static readonly layerFrom: Layer.Layer<KnowledgeSearch, never, BaseIndexes | SearchRepo | VectorSearch> =
    Layer.effect(
      KnowledgeSearch,
      Effect.gen(function* () {
        const repo = yield* SearchRepo
        const memory = yield* BaseIndexes
        const vectors = yield* VectorSearch

        const attempt = Effect.fnUntraced(function* (
          scope: Scope,
          text: string,
          limit: number,
          question: Effect.Effect<Float32Array, VectorsFailed>
        ) {
          const { bases, terms } = yield* repo.query(scope, text, vectors.modelId)
          const indexes = yield* memory.get(bases.filter(({ passages }) => passages > 0))
          const known = knownTerms(indexes, terms)
          const similar = yield* similarTerms(indexes, unknownTerms(indexes, terms, known), memory.trigrams)
          const sizes = [...indexes].map(([id, { passages }]) => ({ id, passages }))
          const byWords = fused([
            relevantOf(byTerms(sizes, known)),
            similar.length === 0 ? [] : relevantOf(byTerms(sizes, [...known, ...similar]))
          ])
          const isEmbedded = bases.some((base) => base.vectors > 0)
          const near = isEmbedded
            ? yield* Effect.either(Effect.flatMap(question, (vector) => vectors.rank(vector, bases)))
            : Either.right([])
          const best = withVectors(
            byWords,
            Either.getOrElse(near, () => [])
          ).slice(0, limit)
          const found = yield* repo.passages(
            best.map((place) => ({ ...place, version: indexes.get(place.base_id)?.version ?? 0 }))
          )
          const names = new Map(bases.map(({ id, name }) => [id, name]))
          const passages = best.flatMap(({ base_id, position, score }) => {
            const passage = found.find((row) => row.base_id === base_id && row.position === position)
            const knowledge_base = names.get(base_id)
            if (passage === undefined || knowledge_base === undefined) return []
            const { heading, text } = passage
            return [{ knowledge_base, heading, text, score: Math.round(score * 1000) / 1000 }]
          })
          const without_vectors = Either.isLeft(near) ? near.left.reason : null
          return { bases: bases.length, passages, without_vectors, isComplete: passages.length === best.length }
        })

        return {
          search: Effect.fn("KnowledgeSearch.search")(function* (scope, text, limit, patience = defaultPatience) {
            // Texts of PostgreSQL cannot contain NUL.
            const query = text.replaceAll("\0", " ").slice(-maxQuery).toWellFormed()
            // The provider works while the words are searched.
            const question =
              vectors.modelId === undefined
                ? vectors.embed(query, patience)
                : Fiber.join(yield* Effect.fork(vectors.embed(query, patience)))
            const first = yield* attempt(scope, query, limit, question)
            // A base has changed meanwhile.
            const { isComplete: _, ...found } = first.isComplete ? first : yield* attempt(scope, query, limit, question)
            return found
          }),
          prepare: Effect.fn("KnowledgeSearch.prepare")(function* (scope) {
            const { bases } = yield* repo.query(scope, "", vectors.modelId)
            const indexes = yield* memory.get(bases)
            yield* Effect.forEach(indexes, ([id, index]) => memory.trigrams(id, index), { discard: true })
            yield* vectors.prepare(bases)
          })
        }
      })
    )

  static readonly layer: Layer.Layer<KnowledgeSearch, never, VectorSearch | SqlClient.SqlClient> = this.layerFrom.pipe(
    Layer.provide(BaseIndexes.layer),
    Layer.provide(SearchRepo.layer)
  )
}
