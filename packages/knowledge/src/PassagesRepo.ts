import { SqlClient, SqlSchema } from "@effect/sql"
import { yieldThread } from "@svc/api/JsonLimits"
import { Chunk, Context, Effect, Layer, Schema } from "effect"
import { maxPassages, type NewPassage } from "./PassageCollection.ts"

/** What a replacement changed. */
export interface Replaced {
  readonly added: number
  readonly removed: number
  /** Passages of pages to keep for which there was no room. */
  readonly truncated: number
}

/** The base that passages belong to. */
export interface PassageOwner {
  readonly id: number
  readonly org_id: number
  readonly project_id: number
}

/** Passages in one statement: about 100 K characters. */
const batch = 100

/** Passages with their index and vectors, which change in the same transaction; vectors of new passages are made later. A passage that stays keeps its id. */
export class PassagesRepo extends Context.Tag("@svc/knowledge/PassagesRepo")<
  PassagesRepo,
  {
    /**
     * Inside a transaction that has locked the base: gives it these passages, in this order, and no others but those that
     * it has of the pages `keep`.
     */
    readonly replace: (
      owner: PassageOwner,
      passages: ReadonlyArray<NewPassage>,
      keep?: ReadonlyArray<string>
    ) => Effect.Effect<Replaced>
    /** Removes all passages of these bases. */
    readonly remove: (baseIds: ReadonlyArray<number>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<PassagesRepo, never, SqlClient.SqlClient> = Layer.effect(
    PassagesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const stored = SqlSchema.findAll({
        Request: Schema.Number,
        Result: Schema.Struct({
          hash: Schema.String,
          position: Schema.Number,
          source_url: Schema.NullOr(Schema.String)
        }),
        execute: (baseId) => sql`
          select encode(content_hash, 'hex') as hash, position, source_url
          from knowledge_passages where knowledge_base_id = ${baseId} order by position, id`
      })

      type Placed = NewPassage & { readonly position: number }
      const column = <A>(rows: ReadonlyArray<Placed>, of: (row: Placed) => A) => rows.map(of)

      const move = (baseId: number, rows: ReadonlyArray<Placed>) => sql`
        update knowledge_passages set position = moved.position, source_url = moved.source_url
        from unnest(
          ${column(rows, ({ content_hash }) => content_hash)}::text[],
          ${column(rows, ({ position }) => position)}::integer[],
          ${column(rows, ({ source_url }) => source_url)}::text[]
        ) as moved (hash, position, source_url)
        where knowledge_base_id = ${baseId} and content_hash = decode(moved.hash, 'hex')`

      const insert = ({ id, org_id, project_id }: PassageOwner, rows: ReadonlyArray<Placed>) => sql`
        insert into knowledge_passages
          (knowledge_base_id, org_id, project_id, content_hash, position, heading, text, source_url)
        select ${id}::bigint, ${org_id}::bigint, ${project_id}::bigint, decode(hash, 'hex'), position, heading, text, source_url
        from unnest(
          ${column(rows, ({ content_hash }) => content_hash)}::text[],
          ${column(rows, ({ position }) => position)}::integer[],
          ${column(rows, ({ heading }) => heading)}::text[],
          ${column(rows, ({ text }) => text)}::text[],
          ${column(rows, ({ source_url }) => source_url)}::text[]
        ) as passage (hash, position, heading, text, source_url)
        order by position`

      /** Makes the base due for vectors of each model. A node that makes some now looks again when it ends. */
      const lacksVectors = (baseId: number) => sql`
        insert into knowledge_embeddings as known (knowledge_base_id, model_id)
        select ${baseId}::bigint, id from knowledge_models
        on conflict (knowledge_base_id, model_id) do update set attempts = 0,
          next_at = case when known.leased_by is null then now() else known.next_at end`

      const replace = Effect.fn("PassagesRepo.replace")(function* (
        owner: PassageOwner,
        passages: ReadonlyArray<NewPassage>,
        keep: ReadonlyArray<string> = []
      ) {
        const before = new Map((yield* stored(owner.id)).map((row) => [row.hash, row]))
        const placed = passages.map((passage, position) => ({ ...passage, position }))
        const added = placed.filter(({ content_hash }) => !before.has(content_hash))
        const moved = placed.filter(({ content_hash, position, source_url }) => {
          const row = before.get(content_hash)
          return row !== undefined && (row.position !== position || row.source_url !== source_url)
        })
        for (const { content_hash } of passages) before.delete(content_hash)
        const ofKept = [...before.values()].filter(({ source_url }) => source_url !== null && keep.includes(source_url))
        const room = Math.max(0, maxPassages - passages.length)
        for (const { hash } of ofKept.slice(0, room)) before.delete(hash)
        const removed = [...before.keys()]
        if (removed.length > 0) {
          yield* sql`
            delete from knowledge_passages
            where knowledge_base_id = ${owner.id}
              and content_hash in (select decode(hash, 'hex') from unnest(${removed}::text[]) as gone (hash))`
          yield* sql`
            delete from knowledge_vectors
            where knowledge_base_id = ${owner.id}
              and content_hash in (select decode(hash, 'hex') from unnest(${removed}::text[]) as gone (hash))`
        }
        if (moved.length > 0) yield* move(owner.id, moved)
        for (const rows of Chunk.chunksOf(Chunk.fromIterable(added), batch)) {
          yield* insert(owner, Chunk.toReadonlyArray(rows))
          yield* yieldThread
        }
        if (added.length + moved.length + removed.length > 0) yield* sql`select knowledge_index(${owner.id}::bigint)`
        if (added.length > 0) yield* lacksVectors(owner.id)
        return { added: added.length, removed: removed.length, truncated: Math.max(0, ofKept.length - room) }
      }, Effect.orDie)

      return {
        replace,
        remove: (baseIds) =>
          Effect.forEach(
            ["knowledge_embeddings", "knowledge_passages", "knowledge_indexes"],
            (table) => sql`delete from ${sql(table)} where knowledge_base_id = any(${baseIds}::bigint[])`,
            { discard: true }
          ).pipe(Effect.orDie)
      }
    })
  )
}
