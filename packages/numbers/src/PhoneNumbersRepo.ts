import { SqlClient, SqlSchema } from "@effect/sql"
import { AgentId } from "@svc/api/Ids"
import { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import { NumberRoute } from "./NumberRoute.ts"
import type { OwnNumber } from "./OwnNumber.ts"

/** The columns of `phone_numbers` that responses show. */
export const NumberRow = Schema.Struct({
  ...Struct.omit(PhoneNumber.fields, "agent_id", "address_id"),
  agent_public_id: Schema.NullOr(AgentId),
  /** EUR; `numeric` arrives as text. */
  monthly_cost_eur: Schema.NumberFromString,
  purchased_at: Schema.DateFromSelf
})
export type NumberRow = typeof NumberRow.Type

const NewNumberRow = Schema.Struct({
  ...Struct.pick(PhoneNumber.fields, "number", "country", "type", "monthly_cost_eur", "telephony"),
  org_id: Schema.Int,
  project_id: Schema.Int
})

const OwnRow = Schema.Struct({
  number: Schema.String,
  telephony: Schema.String,
  agent_id: Schema.NullOr(Schema.Int),
  agent_public_id: Schema.NullOr(AgentId)
})
const toOwn = ({ agent_id, agent_public_id, number, telephony }: typeof OwnRow.Type): OwnNumber => ({
  number,
  telephony,
  agent: agent_id === null || agent_public_id === null ? null : { id: agent_id, public_id: agent_public_id }
})

/** Table `phone_numbers`. */
export class PhoneNumbersRepo extends Context.Tag("@svc/numbers/PhoneNumbersRepo")<
  PhoneNumbersRepo,
  {
    /** None when the number is already active in any project. */
    readonly insert: (row: typeof NewNumberRow.Type) => Effect.Effect<Option.Option<NumberRow>>
    /** Sets or removes the agent of an active number. */
    readonly assign: (
      projectId: number,
      id: number,
      agent: { readonly id: number; readonly public_id: AgentId } | null
    ) => Effect.Effect<Option.Option<NumberRow>>
    /** Leaves an agent's numbers without an agent. */
    readonly unassignAll: (agentId: number) => Effect.Effect<void>
    /** Releases all numbers of a project, and unassigns their agents. */
    readonly releaseAll: (projectId: number) => Effect.Effect<void>
    /** Whether the project has, or had, a number with this id. */
    readonly exists: (projectId: number, id: number) => Effect.Effect<boolean>
    /** Active numbers, newest first, those with an id below `before`. */
    readonly page: (query: {
      readonly project_id: number
      readonly before: number | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<NumberRow>>
    /** Active numbers of an agent, oldest first. */
    readonly ofAgent: (agentId: number) => Effect.Effect<ReadonlyArray<OwnNumber>>
    /** An active number of a project. */
    readonly ofProject: (projectId: number, number: string) => Effect.Effect<Option.Option<OwnNumber>>
    /** The first of the candidates that is an active number of this telephony plugin. */
    readonly route: (candidates: ReadonlyArray<string>, telephony: string) => Effect.Effect<Option.Option<NumberRoute>>
  }
>() {
  static readonly layer: Layer.Layer<PhoneNumbersRepo, never, SqlClient.SqlClient> = Layer.effect(
    PhoneNumbersRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(NumberRow.fields).join(", "))
      const rows = Schema.decodeUnknown(Schema.Array(NumberRow))

      const insert = SqlSchema.findOne({
        Request: NewNumberRow,
        Result: NumberRow,
        execute: (row) => sql`
          insert into phone_numbers ${sql.insert(row)}
          on conflict (number) where status = 'active' do nothing
          returning ${columns}`
      })
      const assign = SqlSchema.findOne({
        Request: Schema.Struct({
          project_id: Schema.Number,
          id: Schema.Number,
          agent: Schema.NullOr(Schema.Struct({ id: Schema.Number, public_id: Schema.String }))
        }),
        Result: NumberRow,
        execute: ({ agent, id, project_id }) => sql`
          update phone_numbers set agent_id = ${agent?.id ?? null}, agent_public_id = ${agent?.public_id ?? null}
          where id = ${id} and project_id = ${project_id} and status = 'active'
          returning ${columns}`
      })
      const route = SqlSchema.findOne({
        Request: Schema.Struct({ candidates: Schema.Array(Schema.String), telephony: Schema.String }),
        Result: NumberRoute,
        execute: ({ candidates, telephony }) => sql`
          select id, number, org_id, project_id, agent_id from phone_numbers
          where number = any(${candidates}::text[]) and telephony = ${telephony} and status = 'active'
          order by array_position(${candidates}::text[], number) limit 1`
      })

      const own = sql.literal("number, telephony, agent_id, agent_public_id")
      const ofAgent = SqlSchema.findAll({
        Request: Schema.Number,
        Result: OwnRow,
        execute: (agent) => sql`
          select ${own} from phone_numbers where agent_id = ${agent} and status = 'active' order by id`
      })
      const ofProject = SqlSchema.findOne({
        Request: Schema.Struct({ project: Schema.Number, number: Schema.String }),
        Result: OwnRow,
        execute: ({ number, project }) => sql`
          select ${own} from phone_numbers
          where number = ${number} and project_id = ${project} and status = 'active'`
      })

      return {
        ofAgent: (agentId) => Effect.map(Effect.orDie(ofAgent(agentId)), (rows) => rows.map(toOwn)),
        ofProject: (project, number) => Effect.map(Effect.orDie(ofProject({ project, number })), Option.map(toOwn)),
        insert: (row) => Effect.orDie(insert(row)),
        assign: (project_id, id, agent) =>
          Effect.orDie(
            assign({ project_id, id, agent: agent === null ? null : { id: agent.id, public_id: agent.public_id } })
          ),
        unassignAll: (agentId) =>
          sql`
            update phone_numbers set agent_id = null, agent_public_id = null where agent_id = ${agentId}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        releaseAll: (projectId) =>
          sql`
            update phone_numbers set status = 'released', agent_id = null, agent_public_id = null
            where project_id = ${projectId} and status = 'active'`.pipe(Effect.asVoid, Effect.orDie),
        exists: (projectId, id) =>
          sql`select 1 from phone_numbers where id = ${id} and project_id = ${projectId}`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          ),
        page: Effect.fn("PhoneNumbersRepo.page")(function* ({ before, limit, project_id }) {
          const conditions = [
            sql`project_id = ${project_id}`,
            sql`status = 'active'`,
            ...(before === undefined ? [] : [sql`id < ${before}`])
          ]
          return yield* rows(
            yield* sql`
              select ${columns} from phone_numbers where ${sql.and(conditions)} order by id desc limit ${limit}`
          )
        }, Effect.orDie),
        route: (candidates, telephony) =>
          candidates.length === 0 ? Effect.succeed(Option.none()) : Effect.orDie(route({ candidates, telephony }))
      }
    })
  )
}
