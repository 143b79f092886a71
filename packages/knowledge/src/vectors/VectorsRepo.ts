import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import type { Place } from "../search/Ranking.ts"

/** A base whose missing vectors a node has claimed. `claim` numbers the claims of a base. */
const Claimed = Schema.Struct({
  knowledge_base_id: Schema.Int,
  model_id: Schema.Int,
  claim: Schema.Int,
  attempts: Schema.Int
})
export type Claimed = typeof Claimed.Type

const Missing = Schema.Struct({
  position: Schema.Int,
  /** In hexadecimal. */
  content_hash: Schema.String,
  heading: Schema.NullOr(Schema.String),
  text: Schema.String
})
/** A passage without a vector. */
export type Missing = typeof Missing.Type

/** A vector to be stored. */
export interface NewVector {
  /** In hexadecimal. */
  readonly content_hash: string
  readonly code: Uint8Array
  readonly vector: Uint8Array
}

const Codes = Schema.Struct({ positions: Schema.Uint8ArrayFromSelf, codes: Schema.Uint8ArrayFromSelf })

const VectorRow = Schema.Struct({
  base_id: Schema.Number,
  position: Schema.Number,
  vector: Schema.Uint8ArrayFromSelf
})

/** Seconds after which a claim is void, because the process that made it hangs. Longer than four requests of a provider. */
const claimSeconds = 300
/** Days for which the vectors of a model that no server has loaded are kept. */
const unusedDays = 7

/**
 * Vectors of passages, by model, and which bases lack some. A base is due for a model when `next_at` has come. See the
 * migration knowledge_vectors.
 */
export class VectorsRepo extends Context.Tag("@svc/knowledge/VectorsRepo")<
  VectorsRepo,
  {
    /** The id of a model, which is now in use. */
    readonly register: (model: { readonly model: string; readonly dimensions: number }) => Effect.Effect<number>
    /** Makes all bases due that have never been. */
    readonly enqueueAll: (modelId: number) => Effect.Effect<void>
    /** Deletes the models that were not in use for long, with their vectors. */
    readonly deleteUnused: Effect.Effect<void>
    /** Whether a base is due for a model: an expression for DueCheck. */
    readonly hasDue: (modelId: number) => Statement.Fragment
    /** Claims a base that is due. */
    readonly claim: (modelId: number, node: string) => Effect.Effect<Option.Option<Claimed>>
    /** Passages without a vector behind a position, by position. */
    readonly missing: (claimed: Claimed, after: number, limit: number) => Effect.Effect<ReadonlyArray<Missing>>
    /** Stores vectors of passages that the base still has. False when the claim is void: then it stores nothing. */
    readonly store: (claimed: Claimed, vectors: ReadonlyArray<NewVector>) => Effect.Effect<boolean>
    /**
     * Ends a claim. `error`: why vectors are missing; the base is then due again after a pause that doubles from 5 seconds
     * to 10 minutes. Without it a base that still lacks some is due at once.
     */
    readonly end: (claimed: Claimed, error: string | null) => Effect.Effect<void>
    /** Makes the claims of dead nodes due. */
    readonly release: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
    /** How many bases lack vectors of a model, and why some could not be made. */
    readonly backlog: (model: { readonly model: string; readonly dimensions: number }) => Effect.Effect<{
      readonly bases: number
      readonly last_error: string | null
      /** For how long the base that is due first has waited. */
      readonly oldest_seconds: number
    }>
    /** The codes of a base, in the order of positions: two bytes of position each, most significant byte first. */
    readonly codes: (baseId: number, modelId: number) => Effect.Effect<typeof Codes.Type>
    readonly vectors: (
      modelId: number,
      places: ReadonlyArray<Place>
    ) => Effect.Effect<ReadonlyArray<typeof VectorRow.Type>>
  }
>() {
  static readonly layer: Layer.Layer<VectorsRepo, never, SqlClient.SqlClient> = Layer.effect(
    VectorsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const run = (work: Effect.Effect<unknown, unknown>) => Effect.asVoid(Effect.orDie(work))

      const register = SqlSchema.single({
        Request: Schema.Struct({ model: Schema.String, dimensions: Schema.Int }),
        Result: Schema.Struct({ id: Schema.Int }),
        execute: ({ dimensions, model }) => sql`
          insert into knowledge_models (model, dimensions) values (${model}, ${dimensions})
          on conflict (model, dimensions) do update set seen_at = now() returning id`
      })

      const due = (modelId: number) => sql`from knowledge_embeddings where model_id = ${modelId} and next_at <= now()`
      const claim = SqlSchema.findOne({
        Request: Schema.Struct({ model_id: Schema.Int, node: Schema.String }),
        Result: Claimed,
        execute: ({ model_id, node }) => sql`
          update knowledge_embeddings set leased_by = ${node}, claim = claim + 1,
            next_at = now() + ${claimSeconds} * interval '1 second'
          where (knowledge_base_id, model_id) = (
            select knowledge_base_id, model_id ${due(model_id)}
            order by next_at limit 1 for update skip locked
          )
          returning knowledge_base_id, model_id, claim, attempts`
      })

      const missing = SqlSchema.findAll({
        Request: Schema.Struct({ base: Schema.Int, model: Schema.Int, after: Schema.Int, limit: Schema.Int }),
        Result: Missing,
        execute: ({ after, base, limit, model }) => sql`
          select position, encode(content_hash, 'hex') as content_hash, heading, text
          from knowledge_passages passage
          where knowledge_base_id = ${base} and position > ${after} and not exists (
            select from knowledge_vectors stored
            where stored.knowledge_base_id = ${base} and stored.model_id = ${model}
              and stored.content_hash = passage.content_hash)
          order by position limit ${limit}`
      })

      /** Inside a transaction: locks the row of a claim. False when the base was deleted or claimed by another node. */
      const lock = ({ claim, knowledge_base_id, model_id }: Claimed) =>
        Effect.map(
          sql`
            select 1 from knowledge_embeddings
            where knowledge_base_id = ${knowledge_base_id} and model_id = ${model_id} and claim = ${claim}
              and leased_by is not null for update`,
          (rows) => rows.length > 0
        )

      const whileCurrent = (claimed: Claimed, work: Effect.Effect<unknown, unknown>) =>
        Effect.flatMap(lock(claimed), (isCurrent) => (isCurrent ? Effect.as(work, true) : Effect.succeed(false))).pipe(
          sql.withTransaction,
          Effect.orDie
        )

      const backlog = SqlSchema.single({
        Request: Schema.Struct({ model: Schema.String, dimensions: Schema.Int }),
        Result: Schema.Struct({
          bases: Schema.Number,
          last_error: Schema.NullOr(Schema.String),
          oldest_seconds: Schema.Number
        }),
        execute: ({ dimensions, model }) => sql`
          select count(*)::int as bases, max(last_error) as last_error,
            greatest(0, coalesce(extract(epoch from now() - min(next_at)), 0))::float8 as oldest_seconds
          from knowledge_embeddings join knowledge_models on id = model_id
          where model = ${model} and dimensions = ${dimensions} and next_at is not null`
      })

      const codes = SqlSchema.single({
        Request: Schema.Struct({ base: Schema.Int, model: Schema.Int }),
        Result: Codes,
        execute: ({ base, model }) => sql`
          select coalesce(string_agg(int2send(position::int2), ''::bytea order by position), '') as positions,
            coalesce(string_agg(code, ''::bytea order by position), '') as codes
          from (select position, content_hash from knowledge_passages where knowledge_base_id = ${base}) as passage
          join (
            select content_hash, code from knowledge_vectors where knowledge_base_id = ${base} and model_id = ${model}
          ) as stored using (content_hash)`
      })

      const vectors = SqlSchema.findAll({
        Request: Schema.Struct({
          model: Schema.Int,
          base_ids: Schema.Array(Schema.Number),
          positions: Schema.Array(Schema.Number)
        }),
        Result: VectorRow,
        execute: ({ base_ids, model, positions }) => sql`
          select place.base_id, place.position, found.vector
          from unnest(${base_ids}::bigint[], ${positions}::integer[]) as place (base_id, position)
          cross join lateral (
            select vector from knowledge_passages passage
            join knowledge_vectors stored on stored.knowledge_base_id = place.base_id and stored.model_id = ${model}
              and stored.content_hash = passage.content_hash
            where passage.knowledge_base_id = place.base_id and passage.position = place.position
            limit 1
          ) as found`
      })

      return {
        register: (model) => Effect.map(Effect.orDie(register(model)), ({ id }) => id),
        enqueueAll: (modelId) =>
          run(sql`
            insert into knowledge_embeddings (knowledge_base_id, model_id)
            select knowledge_base_id, ${modelId}::integer from knowledge_indexes indexed
            where passages > 0 and not exists (
              select from knowledge_embeddings known
              where known.knowledge_base_id = indexed.knowledge_base_id and known.model_id = ${modelId})
            on conflict do nothing`),
        deleteUnused: run(sql`delete from knowledge_models where seen_at < now() - ${unusedDays} * interval '1 day'`),
        hasDue: (modelId) => sql`exists (select ${due(modelId)})`,
        claim: (model_id, node) => Effect.orDie(claim({ model_id, node })),
        missing: ({ knowledge_base_id: base, model_id: model }, after, limit) =>
          Effect.orDie(missing({ base, model, after, limit })),
        store: (claimed, made) => {
          const { knowledge_base_id, model_id } = claimed
          return whileCurrent(
            claimed,
            Effect.zipRight(
              sql`
                insert into knowledge_vectors (knowledge_base_id, model_id, content_hash, code, vector)
                select passage.knowledge_base_id, ${model_id}::integer, passage.content_hash, made.code, made.vector
                from unnest(
                  ${made.map(({ content_hash }) => content_hash)}::text[],
                  ${made.map(({ code }) => Buffer.from(code))}::bytea[],
                  ${made.map(({ vector }) => Buffer.from(vector))}::bytea[]
                ) as made (hash, code, vector)
                join knowledge_passages passage
                  on passage.knowledge_base_id = ${knowledge_base_id} and passage.content_hash = decode(made.hash, 'hex')
                on conflict do nothing`,
              sql`
                update knowledge_embeddings set version = nextval('knowledge_index_versions'),
                  next_at = now() + ${claimSeconds} * interval '1 second'
                where knowledge_base_id = ${knowledge_base_id} and model_id = ${model_id}`
            )
          )
        },
        end: (claimed, error) => {
          const { knowledge_base_id, model_id } = claimed
          return run(
            whileCurrent(
              claimed,
              Effect.zipRight(
                // Of a base that was deleted while it was made due.
                sql`
                  delete from knowledge_embeddings where knowledge_base_id = ${knowledge_base_id} and not exists (
                    select from knowledge_indexes where knowledge_base_id = ${knowledge_base_id})`,
                sql`
                  update knowledge_embeddings set leased_by = null, last_error = ${error},
                    attempts = case when ${error}::text is null then 0 else attempts + 1 end,
                    next_at = case
                      when ${error}::text is not null
                        then now() + least(600, 5 * 2 ^ least(attempts, 10)) * interval '1 second'
                      when exists (
                        select from knowledge_passages passage
                        where passage.knowledge_base_id = ${knowledge_base_id} and not exists (
                          select from knowledge_vectors stored
                          where stored.knowledge_base_id = ${knowledge_base_id} and stored.model_id = ${model_id}
                            and stored.content_hash = passage.content_hash))
                        then now()
                    end
                  where knowledge_base_id = ${knowledge_base_id} and model_id = ${model_id}`
              )
            )
          )
        },
        release: (nodes) =>
          run(sql`
            update knowledge_embeddings set next_at = now(), leased_by = null
            where leased_by = any(${nodes}::text[]) and next_at is not null`),
        backlog: (model) => Effect.orDie(backlog(model)),
        codes: (base, model) => Effect.orDie(codes({ base, model })),
        vectors: (model, places) =>
          places.length === 0
            ? Effect.succeed([])
            : Effect.orDie(
                vectors({
                  model,
                  base_ids: places.map(({ base_id }) => base_id),
                  positions: places.map(({ position }) => position)
                })
              )
      }
    })
  )
}
