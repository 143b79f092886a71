import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { AddressFields, type AddressStatus, type NumberTypeVerdict } from "@svc/api/addresses/AddressFields"
import { variant } from "@svc/api/EntityFields"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, type Option, Schema } from "effect"

/** A row of `addresses`. */
export const AddressRow = variant(AddressFields, "row")
export type AddressRow = typeof AddressRow.Type

const NewAddressRow = variant(AddressFields, "insert")
export type NewAddressRow = typeof NewAddressRow.Type

/** Seconds after which a claim is void, because the process that made it hangs. Longer than two questions. */
const claimSeconds = 120

/** Table `addresses`. Deleted addresses are not found, except as cursors. */
export class AddressesRepo extends Context.Tag("@svc/numbers/AddressesRepo")<
  AddressesRepo,
  {
    /** Inserts a pending address, which is due to be submitted. */
    readonly insert: (row: NewAddressRow, numberTypes: ReadonlyArray<NumberTypeVerdict>) => Effect.Effect<AddressRow>
    readonly find: (projectId: number, id: number) => Effect.Effect<Option.Option<AddressRow>>
    /** Whether the project has, or had, an address with this id. */
    readonly exists: (projectId: number, id: number) => Effect.Effect<boolean>
    /** Newest first, those with an id below `before`. */
    readonly page: (query: {
      readonly project_id: number
      readonly before: number | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<AddressRow>>
    /**
     * Locks an address against its deletion until the caller's transaction ends, and against nothing else. A deletion
     * of its project does not wait for the lock, so that one that is concurrent to a purchase is no deadlock.
     */
    readonly pin: (projectId: number, id: number) => Effect.Effect<Option.Option<AddressRow>>
    /** Locks an address for its deletion: waits for those that {@link pin} it. False when there is none. */
    readonly lockForDeletion: (projectId: number, id: number) => Effect.Effect<boolean>
    /** Whether an active phone number, or one that is being bought, has the address. */
    readonly isUsed: (id: number) => Effect.Effect<boolean>
    /** Deletes an address: its personal data is erased, and its row stays for numbers and cursors that name it. */
    readonly remove: (id: number) => Effect.Effect<void>
    /** Deletes all addresses of a project in this way. */
    readonly removeAll: (projectId: number) => Effect.Effect<void>
    /**
     * Claims due addresses for this node, to ask this telephony plugin about them: those that it verifies and, when
     * `orphansOf` lists the loaded plugins, those that were not submitted and belong to none of these.
     */
    readonly claim: (query: {
      readonly node: string
      readonly telephony: string
      readonly orphansOf: ReadonlyArray<string> | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<AddressRow>>
    /**
     * Milliseconds until an address is due that {@link claim} would claim, or may be claimed again. Undefined: there is
     * none.
     */
    readonly untilDue: (query: {
      readonly telephony: string
      readonly orphansOf: ReadonlyArray<string> | undefined
    }) => Effect.Effect<number | undefined>
    /** The same for all of these plugins, which are the loaded ones: an expression for DueCheck. */
    readonly untilAnyDue: (loaded: ReadonlyArray<string>) => Statement.Fragment
    /** Numbers of submitted addresses that wait for a telephony plugin which is none of these. */
    readonly stranded: (
      loaded: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<{ readonly telephony: string; readonly count: number }>>
    /** Makes the claims of dead nodes due. */
    readonly release: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
    /** Locks an address for a change of its verification. */
    readonly lock: (id: number) => Effect.Effect<Option.Option<AddressRow>>
    /**
     * Stores the carrier's id of the submission, unless another node has stored one since the row was read. Only the
     * first submission counts attempts anew, so that one that the carrier keeps forgetting becomes rare.
     */
    readonly setSubmission: (
      row: Pick<AddressRow, "id" | "submission_id">,
      submissionId: string,
      delayMs: number
    ) => Effect.Effect<void>
    /** Asks again after a delay. */
    readonly askAgain: (id: number, delayMs: number) => Effect.Effect<void>
    /** Writes the verdicts, and asks again after a delay, or never. Counts attempts anew when the status changes. */
    readonly setVerdicts: (
      id: number,
      to: { readonly status: AddressStatus; readonly number_types: ReadonlyArray<NumberTypeVerdict> },
      delayMs: number | null
    ) => Effect.Effect<AddressRow>
  }
>() {
  static readonly layer: Layer.Layer<AddressesRepo, never, SqlClient.SqlClient> = Layer.effect(
    AddressesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(AddressRow.fields).join(", "))
      const rows = Schema.decodeUnknown(Schema.Array(AddressRow))
      const Key = Schema.Struct({ project_id: Schema.Number, id: Schema.Number })
      const live = ({ id, project_id }: typeof Key.Type) =>
        sql`id = ${id} and project_id = ${project_id} and deleted_at is null`
      const after = (delayMs: number) => sql`now() + ${delayMs} * interval '1 millisecond'`

      /** Which addresses are this plugin's to ask about, or nobody's. */
      const askedOf = (telephony: string, orphansOf: ReadonlyArray<string> | undefined) => {
        const orphans =
          orphansOf === undefined
            ? sql`false`
            : sql`submission_id is null and (telephony is null or telephony <> all(${orphansOf}::text[]))`
        return sql`(telephony = ${telephony} or (${orphans}))`
      }
      const untilDue = (asked: Statement.Fragment) => sql`
        select ceil(extract(epoch from min(next_at) - clock_timestamp()) * 1000)::float8 as ms from addresses
        where next_at is not null and ${asked}`
      /** The columns of a deleted address: no longer verified, without personal data. */
      const erased = sql`deleted_at = now(), next_at = null, leased_by = null, customer_name = '', street = '', city = '',
        postcode = '', region = null, number_types = '[]'`

      const insert = SqlSchema.single({
        Request: Schema.Struct({ row: NewAddressRow, verdicts: Schema.String }),
        Result: AddressRow,
        execute: ({ row, verdicts }) => sql`
          insert into addresses ${sql.insert({ ...row, number_types: verdicts })} returning ${columns}`
      })
      const find = SqlSchema.findOne({
        Request: Key,
        Result: AddressRow,
        execute: (key) => sql`select ${columns} from addresses where ${live(key)}`
      })
      const pin = SqlSchema.findOne({
        Request: Key,
        Result: AddressRow,
        execute: (key) => sql`select ${columns} from addresses where ${live(key)} for key share`
      })
      const lock = SqlSchema.findOne({
        Request: Schema.Number,
        Result: AddressRow,
        execute: (id) => sql`
          select ${columns} from addresses where id = ${id} and deleted_at is null for no key update`
      })
      const setVerdicts = SqlSchema.single({
        Request: Schema.Struct({
          id: Schema.Number,
          status: Schema.String,
          verdicts: Schema.String,
          delayMs: Schema.NullOr(Schema.Number)
        }),
        Result: AddressRow,
        execute: ({ delayMs, id, status, verdicts }) => sql`
          update addresses set number_types = ${verdicts}::jsonb, status = ${status},
            attempts = case when status = ${status} then attempts else 0 end,
            next_at = ${delayMs === null ? sql`null` : after(delayMs)}, leased_by = null, updated_at = now()
          where id = ${id} returning ${columns}`
      })

      const stranded = SqlSchema.findAll({
        Request: Schema.Array(Schema.String),
        Result: Schema.Struct({ telephony: Schema.String, count: Schema.Number }),
        execute: (loaded) => sql`
          select telephony, count(*) as count from addresses
          where next_at is not null and submission_id is not null and telephony <> all(${loaded}::text[])
          group by telephony order by telephony`
      })

      return {
        stranded: (loaded) => Effect.orDie(stranded(loaded)),
        insert: (row, numberTypes) => Effect.orDie(insert({ row, verdicts: jsonbText(numberTypes) })),
        find: (project_id, id) => Effect.orDie(find({ project_id, id })),
        exists: (projectId, id) =>
          sql`select 1 from addresses where id = ${id} and project_id = ${projectId}`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          ),
        page: Effect.fn("AddressesRepo.page")(function* ({ before, limit, project_id }) {
          const conditions = [
            sql`project_id = ${project_id}`,
            sql`deleted_at is null`,
            ...(before === undefined ? [] : [sql`id < ${before}`])
          ]
          return yield* rows(
            yield* sql`select ${columns} from addresses where ${sql.and(conditions)} order by id desc limit ${limit}`
          )
        }, Effect.orDie),
        pin: (project_id, id) => Effect.orDie(pin({ project_id, id })),
        lockForDeletion: (project_id, id) =>
          sql`select 1 from addresses where ${live({ project_id, id })} for update`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          ),
        isUsed: (id) =>
          sql`
            select 1 from phone_numbers where address_id = ${id} and status = 'active'
            union all
            select 1 from number_orders where address_id = ${id} and status = 'pending'
            limit 1`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          ),
        remove: (id) => sql`update addresses set ${erased} where id = ${id}`.pipe(Effect.asVoid, Effect.orDie),
        removeAll: (projectId) =>
          sql`update addresses set ${erased} where project_id = ${projectId} and deleted_at is null`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        claim: Effect.fn("AddressesRepo.claim")(function* ({ limit, node, orphansOf, telephony }) {
          return yield* rows(
            yield* sql`
              update addresses set telephony = ${telephony}, leased_by = ${node}, attempts = attempts + 1,
                next_at = ${after(claimSeconds * 1000)}
              where id in (
                select id from addresses where next_at <= now() and ${askedOf(telephony, orphansOf)}
                order by next_at limit ${limit} for no key update skip locked
              )
              returning ${columns}`
          )
        }, Effect.orDie),
        untilDue: ({ orphansOf, telephony }) =>
          sql<{ readonly ms: number | null }>`${untilDue(askedOf(telephony, orphansOf))}`.pipe(
            Effect.map(([row]) => row?.ms ?? undefined),
            Effect.orDie
          ),
        untilAnyDue: (loaded) => sql`(${untilDue(sql`(submission_id is null or telephony = any(${loaded}::text[]))`)})`,
        release: (nodes) =>
          sql`
            update addresses set next_at = now(), leased_by = null
            where leased_by = any(${nodes}::text[]) and next_at is not null`.pipe(Effect.asVoid, Effect.orDie),
        lock: (id) => Effect.orDie(lock(id)),
        setSubmission: ({ id, submission_id }, submissionId, delayMs) =>
          sql`
            update addresses set submission_id = ${submissionId}, next_at = ${after(delayMs)}, leased_by = null,
              attempts = case when submission_id is null then 0 else attempts end
            where id = ${id} and submission_id is not distinct from ${submission_id}::text and next_at is not null`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        askAgain: (id, delayMs) =>
          sql`
            update addresses set next_at = ${after(delayMs)}, leased_by = null
            where id = ${id} and next_at is not null`.pipe(Effect.asVoid, Effect.orDie),
        setVerdicts: (id, { number_types, status }, delayMs) =>
          Effect.orDie(setVerdicts({ id, status, verdicts: jsonbText(number_types), delayMs }))
      }
    })
  )
}
