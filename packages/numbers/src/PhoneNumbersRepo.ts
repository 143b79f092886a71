import { SqlClient, SqlSchema } from "@effect/sql"
import { variant } from "@svc/api/EntityFields"
import { PhoneNumberFields } from "@svc/api/numbers/PhoneNumberFields"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { NumberRoute } from "./NumberRoute.ts"
import type { OwnNumber } from "./OwnNumber.ts"

/** A row of `phone_numbers`. */
export const NumberRow = variant(PhoneNumberFields, "row")
export type NumberRow = typeof NumberRow.Type

const NewNumberRow = variant(PhoneNumberFields, "insert")
export type NewNumberRow = typeof NewNumberRow.Type

/** The columns that an assignment writes. */
const NumberChange = variant(PhoneNumberFields, "change")
export type NumberChange = typeof NumberChange.Type

const unassigned: NumberChange = { agent_id: null, agent_public_id: null }

const OwnRow = NumberRow.pick("number", "telephony", "agent_id", "agent_public_id")
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
    readonly insert: (row: NewNumberRow) => Effect.Effect<Option.Option<NumberRow>>
    /** Sets or removes the agent of an active number. */
    readonly assign: (projectId: number, id: number, to: NumberChange) => Effect.Effect<Option.Option<NumberRow>>
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
        Request: Schema.Struct({ project_id: Schema.Number, id: Schema.Number, to: NumberChange }),
        Result: NumberRow,
        execute: ({ id, project_id, to }) => sql`
          update phone_numbers set ${sql.update(to)}
          where id = ${id} and project_id = ${project_id} and status = 'active'
          returning ${columns}`
      })
      const route = SqlSchema.findOne({
        Request: Schema.Struct({ candidates: Schema.Array(Schema.String), telephony: Schema.String }),
        Result: NumberRoute,
        execute: ({ candidates, telephony }) => sql`
          select ${sql.literal(Object.keys(NumberRoute.fields).join(", "))} from phone_numbers
          where number = any(${candidates}::text[]) and telephony = ${telephony} and status = 'active'
          order by array_position(${candidates}::text[], number) limit 1`
      })

      const own = sql.literal(Object.keys(OwnRow.fields).join(", "))
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
        assign: (project_id, id, to) => Effect.orDie(assign({ project_id, id, to })),
        unassignAll: (agentId) =>
          sql`
            update phone_numbers set ${sql.update(unassigned)} where agent_id = ${agentId}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        releaseAll: (projectId) =>
          sql`
            update phone_numbers set status = 'released', ${sql.update(unassigned)}
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
