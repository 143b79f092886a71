import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { variant } from "@svc/api/EntityFields"
import { KnowledgeBaseId, newKnowledgeBaseId, parseId } from "@svc/api/Ids"
import { KnowledgeBaseFields, KnowledgeEntry } from "@svc/api/knowledge/KnowledgeBaseFields"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, Option, Schema } from "effect"

/** A row of `knowledge_bases`, without what it was made from. */
export const KnowledgeBaseRow = variant(KnowledgeBaseFields, "row")
export type KnowledgeBaseRow = typeof KnowledgeBaseRow.Type

const NewKnowledgeBaseRow = variant(KnowledgeBaseFields, "insert")
export type NewKnowledgeBaseRow = Omit<typeof NewKnowledgeBaseRow.Type, "public_id">

const KnowledgeBaseChange = variant(KnowledgeBaseFields, "change")
export type KnowledgeBaseChange = typeof KnowledgeBaseChange.Type

/** What a base was made from by its customer; both null when it is read from a URL. */
export const Given = Schema.Struct({
  content: Schema.NullOr(Schema.String),
  entries: Schema.NullOr(Schema.Array(KnowledgeEntry))
})
export type Given = typeof Given.Type

const WholeRow = Schema.Struct({ ...KnowledgeBaseRow.fields, ...Given.fields })
export type WholeKnowledgeBase = typeof WholeRow.Type

const parse = parseId(KnowledgeBaseId)

/** Table `knowledge_bases`. Deleted bases are not found, except as cursors. */
export class KnowledgeBasesRepo extends Context.Tag("@svc/knowledge/KnowledgeBasesRepo")<
  KnowledgeBasesRepo,
  {
    /** Waits for a concurrent deletion of the project; a deleted project is a defect, which HTTP answers with 404. */
    readonly insert: (row: NewKnowledgeBaseRow, given: Given) => Effect.Effect<KnowledgeBaseRow>
    /** By public or numeric id, with what it was made from. */
    readonly find: (projectId: number, id: string) => Effect.Effect<Option.Option<WholeKnowledgeBase>>
    /** Numeric id of a base of the project, deleted or not. */
    readonly known: (projectId: number, id: string) => Effect.Effect<Option.Option<number>>
    /** Newest first, those with an id below `before`. */
    readonly page: (query: {
      readonly project_id: number
      readonly before: number | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<KnowledgeBaseRow>>
    /** Inside a transaction: until it ends no other transaction changes or deletes the base. Agents may be linked to it. */
    readonly lock: (projectId: number, id: string) => Effect.Effect<Option.Option<KnowledgeBaseRow>>
    /** As `lock`, and waits for transactions that link agents to the base. */
    readonly lockForDeletion: (projectId: number, id: string) => Effect.Effect<Option.Option<KnowledgeBaseRow>>
    /** Writes all columns that can change, and what the base is made from if it is given. */
    readonly change: (id: number, to: KnowledgeBaseChange, given: Given | undefined) => Effect.Effect<KnowledgeBaseRow>
    /** Deletes a base (soft), with what it was made from. */
    readonly remove: (id: number) => Effect.Effect<void>
    /** Deletes all bases of a project, and returns their ids. */
    readonly removeAll: (projectId: number) => Effect.Effect<ReadonlyArray<number>>
  }
>() {
  static readonly layer: Layer.Layer<KnowledgeBasesRepo, never, SqlClient.SqlClient> = Layer.effect(
    KnowledgeBasesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(KnowledgeBaseRow.fields).join(", "))
      const rows = Schema.decodeUnknown(Schema.Array(KnowledgeBaseRow))
      const whole = Schema.decodeUnknown(Schema.Array(WholeRow))
      const entriesText = (entries: Given["entries"]) => (entries === null ? null : jsonbText(entries))

      const insert = SqlSchema.single({
        Request: Schema.Struct({
          row: NewKnowledgeBaseRow,
          content: Schema.NullOr(Schema.String),
          entries: Schema.NullOr(Schema.String)
        }),
        Result: KnowledgeBaseRow,
        execute: ({ content, entries, row }) =>
          sql`insert into knowledge_bases ${sql.insert({ ...row, content, entries })} returning ${columns}`
      })

      const change = SqlSchema.single({
        Request: Schema.Struct({ id: Schema.Number, to: KnowledgeBaseChange }),
        Result: KnowledgeBaseRow,
        execute: ({ id, to }) => sql`
          update knowledge_bases set ${sql.update(to)}, updated_at = now() where id = ${id} returning ${columns}`
      })

      /** The condition for a public or numeric id; undefined when it has neither form. */
      const idCondition = (projectId: number, id: string) => {
        const parsed = parse(id)
        if (parsed === undefined) return undefined
        const condition = "numeric" in parsed ? sql`id = ${parsed.numeric}` : sql`public_id = ${parsed.public}`
        return sql`project_id = ${projectId} and ${condition}`
      }

      const locked = (suffix: Statement.Fragment) =>
        Effect.fn("KnowledgeBasesRepo.lock")(function* (projectId: number, id: string) {
          const condition = idCondition(projectId, id)
          if (condition === undefined) return Option.none()
          const found = yield* sql`
            select ${columns} from knowledge_bases where ${condition} and deleted_at is null ${suffix}`
          return Option.fromNullable((yield* rows(found))[0])
        }, Effect.orDie)

      const setGiven = (id: number, { content, entries }: Given) =>
        sql`update knowledge_bases set content = ${content}, entries = ${entriesText(entries)}::jsonb where id = ${id}`

      return {
        insert: Effect.fn("KnowledgeBasesRepo.insert")(function* (
          row: NewKnowledgeBaseRow,
          { content, entries }: Given
        ) {
          const public_id = yield* newKnowledgeBaseId
          return yield* insert({ row: { ...row, public_id }, content, entries: entriesText(entries) })
        }, Effect.orDie),
        find: Effect.fn("KnowledgeBasesRepo.find")(function* (projectId: number, id: string) {
          const condition = idCondition(projectId, id)
          if (condition === undefined) return Option.none()
          const found = yield* sql`
            select ${columns}, content, entries from knowledge_bases where ${condition} and deleted_at is null`
          return Option.fromNullable((yield* whole(found))[0])
        }, Effect.orDie),
        known: Effect.fn("KnowledgeBasesRepo.known")(function* (projectId: number, id: string) {
          const condition = idCondition(projectId, id)
          if (condition === undefined) return Option.none()
          const found = yield* sql<{ readonly id: number }>`select id from knowledge_bases where ${condition}`
          return Option.map(Option.fromNullable(found[0]), (row) => row.id)
        }, Effect.orDie),
        page: Effect.fn("KnowledgeBasesRepo.page")(function* ({ before, limit, project_id }) {
          const conditions = [
            sql`project_id = ${project_id}`,
            sql`deleted_at is null`,
            ...(before === undefined ? [] : [sql`id < ${before}`])
          ]
          return yield* rows(
            yield* sql`
              select ${columns} from knowledge_bases where ${sql.and(conditions)} order by id desc limit ${limit}`
          )
        }, Effect.orDie),
        lock: locked(sql.literal("for no key update")),
        lockForDeletion: locked(sql.literal("for update")),
        change: Effect.fn("KnowledgeBasesRepo.change")(function* (id, to, given) {
          if (given !== undefined) yield* setGiven(id, given)
          return yield* change({ id, to })
        }, Effect.orDie),
        remove: (id) =>
          sql`
            update knowledge_bases set deleted_at = now(), next_at = null, leased_by = null, content = null,
              entries = null
            where id = ${id}`.pipe(Effect.asVoid, Effect.orDie),
        removeAll: (projectId) =>
          sql<{ readonly id: number }>`
            update knowledge_bases set deleted_at = now(), next_at = null, leased_by = null, content = null,
              entries = null
            where project_id = ${projectId} and deleted_at is null returning id`.pipe(
            Effect.map((found) => found.map(({ id }) => id)),
            Effect.orDie
          )
      }
    })
  )
}
