import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { IndexRow } from "./BaseIndex.ts"
import type { Place } from "./Ranking.ts"

/** Where to search: the bases of an agent, or these bases. */
export type Scope = { readonly agent_id: number } | { readonly base_ids: ReadonlyArray<number> }

/** A base that is searched. `version` is that of its index, `vectors` that of its vectors, or 0. */
const SearchedBase = Schema.Struct({
  id: Schema.Number,
  name: Schema.String,
  passages: Schema.Number,
  version: Schema.Number,
  vectors: Schema.Number
})
export type SearchedBase = typeof SearchedBase.Type

/** A query in its scope. */
const Query = Schema.Struct({
  bases: Schema.Array(SearchedBase),
  /** The terms of the query, in each language of the bases, without stop words. */
  terms: Schema.Array(Schema.String)
})
export type Query = typeof Query.Type

const Index = Schema.Struct({
  version: Schema.Number,
  passages: Schema.Number,
  terms: Schema.String,
  counts: Schema.Uint8ArrayFromSelf,
  postings: Schema.Uint8ArrayFromSelf
})

const PassageRow = Schema.Struct({
  base_id: Schema.Number,
  position: Schema.Number,
  heading: Schema.NullOr(Schema.String),
  text: Schema.String
})
export type PassageRow = typeof PassageRow.Type

/** Reads bases, their indexes and passages. */
export class SearchRepo extends Context.Tag("@svc/knowledge/SearchRepo")<
  SearchRepo,
  {
    /** `modelId`: of the vectors that are searched too. */
    readonly query: (scope: Scope, text: string, modelId?: number) => Effect.Effect<Query>
    /** Undefined when the base was deleted. */
    readonly index: (id: number) => Effect.Effect<IndexRow | undefined>
    /** Passages at places of an index; without those of bases whose index has changed since. */
    readonly passages: (
      places: ReadonlyArray<Place & { readonly version: number }>
    ) => Effect.Effect<ReadonlyArray<PassageRow>>
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

      const index = SqlSchema.findOne({
        Request: Schema.Number,
        Result: Index,
        execute: (id) => sql`
          select version, passages, terms, counts, postings from knowledge_indexes where knowledge_base_id = ${id}`
      })

      const passages = SqlSchema.findAll({
        Request: Schema.Struct({
          base_ids: Schema.Array(Schema.Number),
          positions: Schema.Array(Schema.Number),
          versions: Schema.Array(Schema.Number)
        }),
        Result: PassageRow,
        execute: ({ base_ids, positions, versions }) => sql`
          select place.base_id, place.position, found.heading, found.text
          from unnest(${base_ids}::bigint[], ${positions}::integer[], ${versions}::bigint[])
            as place (base_id, position, version)
          cross join lateral (
            select heading, text from knowledge_passages
            where knowledge_base_id = place.base_id and position = place.position
              and (select version from knowledge_indexes where knowledge_base_id = place.base_id) = place.version
            order by id limit 1
          ) as found`
      })

      return {
        query: Effect.fn("SearchRepo.query")(function* (scope: Scope, text: string, modelId?: number) {
          const found = yield* sql`
            with searched as materialized (
              select id, name, coalesce(config, 'simple') as config, coalesce(passages, 0) as passages,
                coalesce(indexed.version, 0) as version, coalesce(embedded.version, 0) as vectors
              from knowledge_bases
              left join knowledge_indexes indexed on indexed.knowledge_base_id = id
              left join knowledge_embeddings embedded
                on embedded.knowledge_base_id = id and embedded.model_id = ${modelId ?? 0}::integer
              where ${basesOf(scope)} and deleted_at is null
            )
            select
              (select coalesce(json_agg(json_build_object(
                'id', id, 'name', name, 'passages', passages, 'version', version, 'vectors', vectors)), '[]') from searched) as bases,
              array(select distinct knowledge_fold(lexeme)
                from (select distinct config from searched) as language, unnest(to_tsvector(config, ${text}))) as terms`
          const [query] = yield* Schema.decodeUnknown(Schema.Tuple(Query))(found)
          return query
        }, Effect.orDie),
        index: (id) => Effect.map(Effect.orDie(index(id)), Option.getOrUndefined),
        passages: (places) =>
          places.length === 0
            ? Effect.succeed([])
            : Effect.orDie(
                passages({
                  base_ids: places.map(({ base_id }) => base_id),
                  positions: places.map(({ position }) => position),
                  versions: places.map(({ version }) => version)
                })
              )
      }
    })
  )
}
