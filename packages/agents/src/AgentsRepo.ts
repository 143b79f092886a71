import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { AgentFields, KnowledgeBaseRef } from "@svc/api/agents/AgentFields"
import { pick, variant } from "@svc/api/EntityFields"
import { AgentId, newAgentId, parseId } from "@svc/api/Ids"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { Context, Effect, Either, Layer, Option, Schema, Struct } from "effect"

/** A row of `agents`. */
export const AgentRow = variant(AgentFields, "row")
export type AgentRow = typeof AgentRow.Type

const NewAgentRow = variant(AgentFields, "insert")
export type NewAgentRow = Omit<typeof NewAgentRow.Type, "public_id">

/** The columns of an agent that can change. */
const AgentChange = variant(AgentFields, "change")
export type AgentChange = typeof AgentChange.Type

const changeKeys = Struct.keys(AgentChange.fields)

/** The columns of a row that can change. */
export const changeable = (row: AgentChange): AgentChange => pick(row, changeKeys)

const parseAgentId = parseId(AgentId)

/** A name in the form in which it is searched: lower case, NFC. The locale of the database may fold only ASCII. */
const fold = (name: string): string => name.normalize("NFC").toLowerCase()

/** The LIKE pattern for names that contain this text, without wildcards of its own. */
const containing = (text: string): string => `%${fold(text).replace(/[\\%_]/g, "\\$&")}%`

/** Table `agents`, and which knowledge bases each agent uses. */
export class AgentsRepo extends Context.Tag("@svc/agents/AgentsRepo")<
  AgentsRepo,
  {
    /** Waits for a concurrent deletion of the project; a deleted project is a defect, which HTTP answers with 404. */
    readonly insert: (row: NewAgentRow) => Effect.Effect<AgentRow>
    /** Writes all columns that can change, and sets `updated_at`. */
    readonly change: (agent: Pick<AgentRow, "id" | "public_id">, to: AgentChange) => Effect.Effect<AgentRow>
    readonly find: (projectId: number, id: string) => Effect.Effect<Option.Option<AgentRow>>
    readonly findById: (id: number) => Effect.Effect<Option.Option<AgentRow>>
    /** By public or numeric id, of any project: for the commands of an operator. */
    readonly findOfAnyProject: (id: string) => Effect.Effect<Option.Option<AgentRow>>
    /**
     * Inside a transaction: as `find`, and until it ends no other transaction changes or deletes the agent. Calls may
     * start.
     */
    readonly lock: (projectId: number, id: string) => Effect.Effect<Option.Option<AgentRow>>
    /** As `lock`, and no call of the agent starts either: see `pin`. */
    readonly lockForDeletion: (projectId: number, id: string) => Effect.Effect<Option.Option<AgentRow>>
    /** Inside a transaction: until it ends the agent is not deleted. False when it is deleted. */
    readonly pin: (id: number) => Effect.Effect<boolean>
    /** Numeric id of an agent of the project, deleted or not. */
    readonly known: (projectId: number, id: string) => Effect.Effect<Option.Option<number>>
    /** Newest first, those with an id below `before`. `name`: part of the name, any case, no wildcards. */
    readonly page: (query: {
      readonly project_id: number
      readonly before: number | undefined
      readonly name: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<AgentRow>>
    /** The knowledge bases that these agents are linked to, by ascending id. */
    readonly links: (
      ids: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlyArray<KnowledgeBaseRef & { readonly agent_id: number }>>
    /** Links the agent to these knowledge bases and no others. */
    readonly link: (id: number, bases: ReadonlyArray<KnowledgeBaseRef>) => Effect.Effect<void>
    /**
     * Removes the links of a knowledge base. Those that another transaction has locked stay: it removes them itself, and
     * waiting for it could be a deadlock. `links` does not find those of a deleted base.
     */
    readonly unlink: (baseId: number) => Effect.Effect<void>
    /** Deletes one agent (soft). */
    readonly delete: (id: number) => Effect.Effect<void>
    /** Deletes all agents of a project (soft), and their links. */
    readonly deleteAll: (projectId: number) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<AgentsRepo, never, SqlClient.SqlClient> = Layer.effect(
    AgentsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(AgentRow.fields).join(", "))
      const rows = Schema.decodeUnknown(Schema.Array(AgentRow))
      const box = yield* StoredSecrets
      const placeOf = (public_id: string) => `agents.server_secret:${public_id}` as const
      const sealed = <A extends { readonly server_secret: string }>(public_id: string, row: A): A => ({
        ...row,
        server_secret: box.seal(row.server_secret, placeOf(public_id))
      })
      /** Throws, which is a defect in an effect, when the secret cannot be decrypted. No effect: lists call it for each row. */
      const opened = (row: AgentRow): AgentRow => {
        const server_secret = Either.getOrThrowWith(
          box.open(row.server_secret, placeOf(row.public_id)),
          (unreadable) => unreadable
        )
        return server_secret === row.server_secret ? row : { ...row, server_secret }
      }

      const insert = SqlSchema.single({
        Request: NewAgentRow,
        Result: AgentRow,
        execute: (row) =>
          sql`insert into agents ${sql.insert({ ...row, name_folded: fold(row.name) })} returning ${columns}`
      })
      const change = SqlSchema.single({
        Request: Schema.Struct({ id: Schema.Number, to: AgentChange }),
        Result: AgentRow,
        execute: ({ id, to }) => sql`
          update agents set ${sql.update({ ...to, name_folded: fold(to.name) })}, updated_at = now()
          where id = ${id} returning ${columns}`
      })
      const findById = SqlSchema.findOne({
        Request: Schema.Number,
        Result: AgentRow,
        execute: (id) => sql`select ${columns} from agents where id = ${id} and deleted_at is null`
      })
      /** The condition for a public or numeric id; undefined when it has neither form. */
      const idCondition = (id: string) => {
        const parsed = parseAgentId(id)
        if (parsed === undefined) return undefined
        return "numeric" in parsed ? sql`id = ${parsed.numeric}` : sql`public_id = ${parsed.public}`
      }

      const first = Effect.fnUntraced(function* (id: string, owner: Statement.Fragment, suffix: Statement.Fragment) {
        const condition = idCondition(id)
        if (condition === undefined) return Option.none()
        const found = yield* sql`
          select ${columns} from agents where ${owner} and deleted_at is null and ${condition} ${suffix}`
        return Option.map(Option.fromNullable((yield* rows(found))[0]), opened)
      }, Effect.orDie)
      const select = (suffix: Statement.Fragment) =>
        Effect.fn("AgentsRepo.find")((projectId: number, id: string) =>
          first(id, sql`project_id = ${projectId}`, suffix)
        )

      const links = SqlSchema.findAll({
        Request: Schema.Array(Schema.Number),
        Result: Schema.Struct({ agent_id: Schema.Number, ...KnowledgeBaseRef.fields }),
        execute: (ids) => sql`
          select link.agent_id, base.id, base.public_id
          from agent_knowledge_bases link join knowledge_bases base on base.id = link.knowledge_base_id
          where link.agent_id = any(${ids}::bigint[]) and base.deleted_at is null order by base.id`
      })

      return {
        insert: Effect.fn("AgentsRepo.insert")(function* (row: NewAgentRow) {
          const public_id = yield* newAgentId
          return opened(yield* insert(sealed(public_id, { ...row, public_id })))
        }, Effect.orDie),
        change: ({ id, public_id }, to) => Effect.map(Effect.orDie(change({ id, to: sealed(public_id, to) })), opened),
        findById: (id) => Effect.map(Effect.orDie(findById(id)), Option.map(opened)),
        find: select(sql.literal("")),
        findOfAnyProject: (id) => first(id, sql.literal("true"), sql.literal("")),
        lock: select(sql.literal("for no key update")),
        lockForDeletion: select(sql.literal("for update")),
        pin: (id) =>
          sql`select 1 from agents where id = ${id} and deleted_at is null for key share`.pipe(
            Effect.map((found) => found.length === 1),
            Effect.orDie
          ),
        links: (ids) => Effect.orDie(links(ids)),
        link: (id, to) => {
          const ids = to.map((base) => base.id)
          return sql`
            delete from agent_knowledge_bases
            where agent_id = ${id} and not (knowledge_base_id = any(${ids}::bigint[]))`.pipe(
            Effect.zipRight(sql`
              insert into agent_knowledge_bases (agent_id, knowledge_base_id)
              select ${id}::bigint, * from unnest(${ids}::bigint[]) on conflict do nothing`),
            Effect.asVoid,
            Effect.orDie
          )
        },
        unlink: (baseId) =>
          sql`
            delete from agent_knowledge_bases where (agent_id, knowledge_base_id) in (
              select agent_id, knowledge_base_id from agent_knowledge_bases
              where knowledge_base_id = ${baseId} for update skip locked
            )`.pipe(Effect.asVoid, Effect.orDie),
        delete: (id) =>
          sql`update agents set deleted_at = now(), updated_at = now() where id = ${id}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        deleteAll: (projectId) =>
          sql`
            update agents set deleted_at = now(), updated_at = now()
            where project_id = ${projectId} and deleted_at is null`.pipe(
            // No transaction holds a lock on these agents any more, so none can add links.
            Effect.zipRight(sql`
              delete from agent_knowledge_bases link using agents
              where link.agent_id = agents.id and agents.project_id = ${projectId}`),
            Effect.asVoid,
            Effect.orDie
          ),
        known: Effect.fn("AgentsRepo.known")(function* (projectId: number, id: string) {
          const condition = idCondition(id)
          if (condition === undefined) return Option.none()
          const found = yield* sql<{ readonly id: number }>`
            select id from agents where project_id = ${projectId} and ${condition}`
          return Option.map(Option.fromNullable(found[0]), (row) => row.id)
        }, Effect.orDie),
        page: ({ before, limit, name, project_id }) => {
          const conditions = [
            sql`project_id = ${project_id}`,
            sql`deleted_at is null`,
            ...(before === undefined ? [] : [sql`-id > ${-before}`]),
            ...(name === undefined ? [] : [sql`name_folded like ${containing(name)}`])
          ]
          // By the index of the project, and no other: see its migration.
          // Not decoded: we wrote these rows and the columns have these types; decoding would add 30 µs to a page of
          // 20.
          return Effect.map(
            Effect.orDie(
              sql<AgentRow>`select ${columns} from agents where ${sql.and(conditions)} order by -id limit ${limit}`
            ),
            (found) => found.map(opened)
          )
        }
      }
    })
  )
}
