import { SqlClient, SqlSchema } from "@effect/sql"
import { AgentId, newAgentId, parseId } from "@svc/api/Ids"
import { Context, Effect, Layer, Option, Schema } from "effect"

/** A row of `agents`, whole. */
export const AgentRow = Schema.Struct({
  id: Schema.Number,
  public_id: AgentId,
  org_id: Schema.Number,
  project_id: Schema.Number,
  name: Schema.String,
  language: Schema.String,
  voice: Schema.String,
  max_duration: Schema.Number,
  recording: Schema.Boolean,
  end_call_enabled: Schema.Boolean,
  server_url: Schema.String,
  server_secret: Schema.String,
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type AgentRow = typeof AgentRow.Type

const NewAgentRow = AgentRow.omit("id", "created_at", "updated_at")
export type NewAgentRow = Omit<typeof NewAgentRow.Type, "public_id">

const parseAgentId = parseId(AgentId)

/** Table `agents`. */
export class AgentsRepo extends Context.Tag("@svc/agents/AgentsRepo")<
  AgentsRepo,
  {
    readonly insert: (row: NewAgentRow) => Effect.Effect<AgentRow>
    readonly find: (projectId: number, id: string) => Effect.Effect<Option.Option<AgentRow>>
    readonly findById: (id: number) => Effect.Effect<Option.Option<AgentRow>>
    /** Numeric id of a row that a cursor names; it may have been deleted since it was seen. */
    readonly cursor: (projectId: number, id: string) => Effect.Effect<Option.Option<number>>
    /** Newest first, those with an id below `before`. `name`: part of the name, any case, no wildcards. */
    readonly page: (query: {
      readonly project_id: number
      readonly before: number | undefined
      readonly name: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<AgentRow>>
    /** Deletes all agents of a project (soft). */
    readonly deleteAll: (projectId: number) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<AgentsRepo, never, SqlClient.SqlClient> = Layer.effect(
    AgentsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(AgentRow.fields).join(", "))
      const rows = Schema.decodeUnknown(Schema.Array(AgentRow))

      const insert = SqlSchema.single({
        Request: NewAgentRow,
        Result: AgentRow,
        execute: (row) => sql`insert into agents ${sql.insert(row)} returning ${columns}`
      })
      const findById = SqlSchema.findOne({
        Request: Schema.Number,
        Result: AgentRow,
        execute: (id) => sql`select ${columns} from agents where id = ${id} and deleted_at is null`
      })
      /** The condition that an id from outside names; none when it has neither form. */
      const named = (id: string) => {
        const parsed = parseAgentId(id)
        if (parsed === undefined) return undefined
        return "numeric" in parsed ? sql`id = ${parsed.numeric}` : sql`public_id = ${parsed.public}`
      }

      return {
        insert: Effect.fn("AgentsRepo.insert")(function* (row: NewAgentRow) {
          const public_id = yield* newAgentId
          return yield* insert({ ...row, public_id })
        }, Effect.orDie),
        findById: (id) => Effect.orDie(findById(id)),
        deleteAll: (projectId) =>
          sql`
            update agents set deleted_at = now(), updated_at = now()
            where project_id = ${projectId} and deleted_at is null`.pipe(Effect.asVoid, Effect.orDie),
        find: Effect.fn("AgentsRepo.find")(function* (projectId: number, id: string) {
          const condition = named(id)
          if (condition === undefined) return Option.none()
          const found = yield* sql`
            select ${columns} from agents
            where project_id = ${projectId} and deleted_at is null and ${condition}`
          return Option.fromNullable((yield* rows(found))[0])
        }, Effect.orDie),
        cursor: Effect.fn("AgentsRepo.cursor")(function* (projectId: number, id: string) {
          const condition = named(id)
          if (condition === undefined) return Option.none()
          const found = yield* sql<{ readonly id: number }>`
            select id from agents where project_id = ${projectId} and ${condition}`
          return Option.map(Option.fromNullable(found[0]), (row) => row.id)
        }, Effect.orDie),
        page: ({ before, limit, name, project_id }) => {
          const conditions = [
            sql`project_id = ${project_id}`,
            sql`deleted_at is null`,
            ...(before === undefined ? [] : [sql`id < ${before}`]),
            ...(name === undefined ? [] : [sql`strpos(lower(name), lower(${name})) > 0`])
          ]
          // Not decoded: we wrote these rows and the columns have these types; decoding would add 30 µs to a page of 20.
          return Effect.orDie(
            sql<AgentRow>`select ${columns} from agents where ${sql.and(conditions)} order by id desc limit ${limit}`
          )
        }
      }
    })
  )
}
