import { SqlClient, SqlSchema } from "@effect/sql"
import { KnowledgeBaseRef } from "@svc/api/agents/AgentFields"
import { KnowledgeBaseId, parseId } from "@svc/api/Ids"
import { Context, Effect, Layer, Schema } from "effect"

const parse = parseId(KnowledgeBaseId)

/** Looks up knowledge bases, which belong to the knowledge package, for links to them. */
export class KnowledgeBasesRepo extends Context.Tag("@svc/agents/KnowledgeBasesRepo")<
  KnowledgeBasesRepo,
  {
    /**
     * For each public or numeric id the project's knowledge base, or undefined. Inside a transaction those found are
     * not deleted until it ends.
     */
    readonly resolve: (
      projectId: number,
      ids: ReadonlyArray<string | number>
    ) => Effect.Effect<ReadonlyArray<KnowledgeBaseRef | undefined>>
  }
>() {
  static readonly layer: Layer.Layer<KnowledgeBasesRepo, never, SqlClient.SqlClient> = Layer.effect(
    KnowledgeBasesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const select = SqlSchema.findAll({
        Request: Schema.Struct({
          project_id: Schema.Number,
          numeric: Schema.Array(Schema.Number),
          public: Schema.Array(Schema.String)
        }),
        Result: KnowledgeBaseRef,
        execute: (wanted) => sql`
          select id, public_id from knowledge_bases
          where project_id = ${wanted.project_id} and deleted_at is null
            and (id = any(${wanted.numeric}::bigint[]) or public_id = any(${wanted.public}::text[]))
          order by id for key share`
      })

      return {
        resolve: Effect.fn("KnowledgeBasesRepo.resolve")(function* (project_id, ids) {
          if (ids.length === 0) return []
          const parsed = ids.map((id) => parse(String(id)))
          const found = yield* select({
            project_id,
            numeric: parsed.flatMap((id) => (id !== undefined && "numeric" in id ? [id.numeric] : [])),
            public: parsed.flatMap((id) => (id !== undefined && "public" in id ? [id.public] : []))
          })
          return parsed.map((id) =>
            id === undefined
              ? undefined
              : found.find((base) => ("numeric" in id ? base.id === id.numeric : base.public_id === id.public))
          )
        }, Effect.orDie)
      }
    })
  )
}
