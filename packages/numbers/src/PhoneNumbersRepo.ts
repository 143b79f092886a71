import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
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

/** A month of rent of a number. */
const RentedMonth = Schema.Struct({
  ...NumberRow.pick("id", "org_id", "number").fields,
  monthly_cost_eur: Schema.BigDecimal,
  /** Its first day, `YYYY-MM-DD`. */
  begins: Schema.String
})
export type RentedMonth = typeof RentedMonth.Type

/** An active number as it is compared with the carrier's. */
const CarriedNumber = NumberRow.pick("number", "org_id", "project_id", "carrier_id")
export type CarriedNumber = typeof CarriedNumber.Type

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
    /** Waits for other transactions that give this number to somebody, until the caller's transaction ends. */
    readonly lock: (number: string) => Effect.Effect<void>
    /** Which of these numbers are active in any project, or being bought or released. */
    readonly taken: (numbers: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    /** Begins the rent of a number that was just bought, with its first month debited. */
    readonly beginRent: (id: number) => Effect.Effect<NumberRow>
    /** Releases an active number, and unassigns its agent. */
    readonly release: (projectId: number, id: number) => Effect.Effect<Option.Option<NumberRow>>
    /** An active number with a month of rent that is due at `now`, the longest due first; none of `except`. */
    readonly rentDue: (now: Date, except: ReadonlyArray<number>) => Effect.Effect<Option.Option<number>>
    /**
     * Extends the rent of an active number by the month that is due at `now`. None when none is due. Months count from the day of the purchase in UTC: of 31 January, the second month begins on
     * the last day of February and the third on 31 March.
     */
    readonly extendRent: (id: number, now: Date) => Effect.Effect<Option.Option<RentedMonth>>
    /** Active numbers of a telephony plugin. */
    readonly ofTelephony: (telephony: string) => Effect.Effect<ReadonlyArray<CarriedNumber>>
    /** Sets or removes the agent of an active number. */
    readonly assign: (projectId: number, id: number, to: NumberChange) => Effect.Effect<Option.Option<NumberRow>>
    /** Leaves an agent's numbers without an agent. */
    readonly unassignAll: (agentId: number) => Effect.Effect<void>
    /** Releases all numbers of a project, unassigns their agents, and orders the release of bought ones at the carrier. */
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
      /** The same day of a later month as that of the purchase, or the last day of a month that is too short. */
      const monthsAfterPurchase = (months: Statement.Fragment) =>
        sql`((purchased_at at time zone 'UTC') + ${months} * interval '1 month') at time zone 'UTC'`

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

      const beginRent = SqlSchema.single({
        Request: Schema.Number,
        Result: NumberRow,
        execute: (id) => sql`
          update phone_numbers set rent_months = 1, rent_paid_until = ${monthsAfterPurchase(sql`1`)}
          where id = ${id} returning ${columns}`
      })
      const release = SqlSchema.findOne({
        Request: Schema.Struct({ project_id: Schema.Number, id: Schema.Number }),
        Result: NumberRow,
        execute: ({ id, project_id }) => sql`
          update phone_numbers set status = 'released', ${sql.update(unassigned)}
          where id = ${id} and project_id = ${project_id} and status = 'active'
          returning ${columns}`
      })
      const rentDue = SqlSchema.findOne({
        Request: Schema.Struct({ now: Schema.DateFromSelf, except: Schema.Array(Schema.Number) }),
        Result: Schema.Struct({ id: Schema.Int }),
        execute: ({ except, now }) => sql`
          select id from phone_numbers
          where status = 'active' and rent_paid_until <= ${now} and id <> all(${except}::bigint[])
          order by rent_paid_until, id limit 1`
      })
      const extendRent = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, now: Schema.DateFromSelf }),
        Result: RentedMonth,
        execute: ({ id, now }) => sql`
          update phone_numbers set rent_months = rent_months + 1,
            rent_paid_until = ${monthsAfterPurchase(sql`(rent_months + 1)`)}
          where id = ${id} and status = 'active' and rent_paid_until <= ${now}
          returning id, org_id, number, monthly_cost_eur,
            to_char(${monthsAfterPurchase(sql`(rent_months - 1)`)} at time zone 'UTC', 'YYYY-MM-DD') as begins`
      })
      const ofTelephony = SqlSchema.findAll({
        Request: Schema.String,
        Result: CarriedNumber,
        execute: (telephony) => sql`
          select ${sql.literal(Object.keys(CarriedNumber.fields).join(", "))} from phone_numbers
          where telephony = ${telephony} and status = 'active' order by number`
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
        lock: (number) =>
          sql`select pg_advisory_xact_lock(hashtextextended('phone number ' || ${number}, 0))`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        taken: (numbers) =>
          sql<{ readonly number: string }>`
            select number from phone_numbers where number = any(${numbers}::text[]) and status = 'active'
            union
            select number from number_orders where number = any(${numbers}::text[]) and status = 'pending'`.pipe(
            Effect.map((found) => found.map(({ number }) => number)),
            Effect.orDie
          ),
        beginRent: (id) => Effect.orDie(beginRent(id)),
        release: (project_id, id) => Effect.orDie(release({ project_id, id })),
        rentDue: (now, except) =>
          Effect.map(
            Effect.orDie(rentDue({ now, except })),
            Option.map(({ id }) => id)
          ),
        extendRent: (id, now) => Effect.orDie(extendRent({ id, now })),
        ofTelephony: (telephony) => Effect.orDie(ofTelephony(telephony)),
        assign: (project_id, id, to) => Effect.orDie(assign({ project_id, id, to })),
        unassignAll: (agentId) =>
          sql`
            update phone_numbers set ${sql.update(unassigned)} where agent_id = ${agentId}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        releaseAll: (projectId) =>
          sql`
            with released as (
              update phone_numbers set status = 'released', ${sql.update(unassigned)}
              where project_id = ${projectId} and status = 'active'
              returning org_id, project_id, number, telephony, carrier_id
            )
            insert into number_orders (kind, org_id, project_id, number, telephony, next_at)
            select 'release', org_id, project_id, number, telephony, now() from released where carrier_id is not null`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
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
