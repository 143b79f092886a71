import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"

/** Where to search: the bases of an agent, or these bases. */
export type Scope = { readonly agent_id: number } | { readonly base_ids: ReadonlyArray<number> }

/** A base that is searched. */
const SearchedBase = Schema.Struct({ id: Schema.Number, name: Schema.String, passages: Schema.Number })
export type SearchedBase = typeof SearchedBase.Type

/** A term and the passages of a base that have it. */
const TermRow = Schema.Struct({
  base_id: Schema.Number,
  term: Schema.String,
  /** The number of passages with the term. */
  passages: Schema.Number,
  /** See the migration knowledge_index: 4 bytes for each passage, the position and the weight. */
  postings: Schema.instanceOf(Uint8Array)
})
export type TermRow = typeof TermRow.Type

/** A term of a base that is similar to a wanted one. */
const SimilarRow = Schema.Struct({ ...TermRow.fields, wanted: Schema.String, similarity: Schema.Number })
export type SimilarRow = typeof SimilarRow.Type

/** The place of a passage. */
export interface Place {
  readonly base_id: number
  readonly position: number
}

const PassageRow = Schema.Struct({
  base_id: Schema.Number,
  position: Schema.Number,
  heading: Schema.NullOr(Schema.String),
  text: Schema.String
})
export type PassageRow = typeof PassageRow.Type

/** A query as the index has it. */
export interface IndexedQuery {
  readonly bases: ReadonlyArray<SearchedBase>
  /** The terms of the query, in each language of the bases, without stop words. */
  readonly terms: ReadonlyArray<string>
  readonly rows: ReadonlyArray<TermRow>
}

const QueryRow = Schema.Struct({
  bases: Schema.Array(SearchedBase),
  terms: Schema.Array(Schema.String)
})

/** A term that more passages have is not read: it says little, and its postings are long. */
const commonTerm = 0.5
/** Postings that a search reads, the rarest terms first, so that it does not hold up the calls of this process. */
const maxPostings = 100_000
/** Similar terms for each wanted one. */
const maxSimilar = 6

/** Reads the index of passages. See the migration knowledge_index. */
export class SearchRepo extends Context.Tag("@svc/knowledge/SearchRepo")<
  SearchRepo,
  {
    readonly query: (scope: Scope, text: string) => Effect.Effect<IndexedQuery>
    /** Terms of the bases that are similar to the wanted ones, but not the same. */
    readonly similar: (
      baseIds: ReadonlyArray<number>,
      terms: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<SimilarRow>>
    readonly passages: (places: ReadonlyArray<Place>) => Effect.Effect<ReadonlyArray<PassageRow>>
  }
>() {
  static readonly layer: Layer.Layer<SearchRepo, never, SqlClient.SqlClient> = Layer.effect(
    SearchRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const basesOf = (scope: Scope) =>
        "agent_id" in scope
          ? sql`id in (select knowledge_base_id from agent_knowledge_bases where agent_id = ${scope.agent_id})`
          : sql`id = any(${scope.base_ids}::bigint[])`

      const terms = SqlSchema.findAll({
        Request: Schema.Struct({ base_ids: Schema.Array(Schema.Number), terms: Schema.Array(Schema.String) }),
        Result: TermRow,
        execute: ({ base_ids, terms }) => sql`
          select base_id, term, passages, postings
          from (
            select base.id as base_id, entry.term, entry.passages, postings,
              sum(entry.passages) over (order by entry.passages, entry.term, base.id) as total
            from unnest(${base_ids}::bigint[]) as base (id)
            cross join unnest(${terms}::text[]) as wanted (word)
            join knowledge_terms as entry on entry.knowledge_base_id = base.id and entry.term = wanted.word
            join knowledge_indexes as index on index.knowledge_base_id = base.id
            where entry.passages <= greatest(20, ${commonTerm}::float8 * index.passages)
          ) as rarest
          where total <= ${maxPostings}`
      })

      const similar = SqlSchema.findAll({
        Request: Schema.Struct({ base_ids: Schema.Array(Schema.Number), terms: Schema.Array(Schema.String) }),
        Result: SimilarRow,
        execute: ({ base_ids, terms }) => sql`
          with wanted as (
            select word, trigram, count(*) over (partition by word) as trigrams
            from unnest(${terms}::text[]) as word, knowledge_trigrams_of(word) as trigram
          ), shared as (
            select base.id, word, trigrams, term, count(*) as shared
            from unnest(${base_ids}::bigint[]) as base (id)
            cross join wanted
            join knowledge_trigrams as entry on entry.knowledge_base_id = base.id and entry.trigram = wanted.trigram,
              unnest(entry.terms) as term
            group by base.id, word, trigrams, term
            having count(*) >= 2
          ), compared as (
            select id, word, term, greatest(
              2.0 * shared / (trigrams + length(term) + 1),
              -- One is a part of the other, as in a compound. Its ends are trigrams of their own.
              case when least(length(term), length(word)) >= 5
                and shared >= least(trigrams, length(term) + 1) - 2
                then 0.7 else 0 end) as similarity
            from shared where term <> word
          ), ranked as (
            select *, row_number() over (partition by word, id order by similarity desc, term) as rank
            from compared where similarity >= 0.4
          )
          select base_id, wanted, similarity, term, passages, postings
          from (
            select ranked.id as base_id, word as wanted, similarity::float8, entry.term, entry.passages, postings,
              sum(entry.passages) over (order by similarity desc, entry.passages, entry.term, ranked.id, word) as total
            from ranked
            join knowledge_terms as entry on entry.knowledge_base_id = ranked.id and entry.term = ranked.term
            where rank <= ${maxSimilar}
          ) as nearest
          where total <= ${maxPostings}`
      })

      const passages = SqlSchema.findAll({
        Request: Schema.Struct({ base_ids: Schema.Array(Schema.Number), positions: Schema.Array(Schema.Number) }),
        Result: PassageRow,
        execute: ({ base_ids, positions }) => sql`
          select knowledge_base_id as base_id, passage.position, heading, text
          from unnest(${base_ids}::bigint[], ${positions}::integer[]) as place (base_id, position)
          join knowledge_passages as passage
            on passage.knowledge_base_id = place.base_id and passage.position = place.position`
      })

      return {
        query: Effect.fn("SearchRepo.query")(function* (scope: Scope, text: string) {
          const found = yield* sql`
            with searched as (
              select id, name, coalesce(config, 'simple') as config, coalesce(passages, 0) as passages
              from knowledge_bases left join knowledge_indexes on knowledge_base_id = id
              where ${basesOf(scope)} and deleted_at is null
            )
            select
              (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'passages', passages)), '[]')
                from searched) as bases,
              array(select distinct knowledge_fold(lexeme)
                from (select distinct config from searched) as language, unnest(to_tsvector(config, ${text}))) as terms`
          const [{ bases, terms: words }] = yield* Schema.decodeUnknown(Schema.Tuple(QueryRow))(found)
          const rows = words.length === 0 ? [] : yield* terms({ base_ids: bases.map(({ id }) => id), terms: words })
          return { bases, terms: words, rows }
        }, Effect.orDie),
        similar: (base_ids, words) =>
          words.length === 0 ? Effect.succeed([]) : Effect.orDie(similar({ base_ids, terms: words })),
        passages: (places) =>
          places.length === 0
            ? Effect.succeed([])
            : Effect.orDie(
                passages({
                  base_ids: places.map(({ base_id }) => base_id),
                  positions: places.map(({ position }) => position)
                })
              )
      }
    })
  )
}
