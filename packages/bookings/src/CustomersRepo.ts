import { SqlClient, type Statement } from "@effect/sql"
import { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import type { Deleted } from "@svc/api/bookings/BookingCustomersApi"
import { CustomerFields } from "@svc/api/bookings/CustomerFields"
import { pick, variant } from "@svc/api/EntityFields"
import { BookingCustomerId, newBookingCustomerId } from "@svc/api/Ids"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import * as CustomerDetails from "./CustomerDetails.ts"
import { searchColumns } from "./CustomerSearch.ts"

/** A row of `booking_customers`, without the columns that only the database uses. */
export const CustomerRow = variant(CustomerFields, "row")
type CustomerRow = typeof CustomerRow.Type

const insertKeys = Struct.keys(variant(CustomerFields, "insert").fields)
const wireKeys = Struct.keys(BookingCustomer.fields)

/** The columns of {@link CustomerRow}, for the repositories of this table. */
export const columns = Object.keys(CustomerRow.fields).join(", ")

/** Rows of {@link columns} as customers on the wire. */
export const toCustomers: (rows: unknown) => Effect.Effect<ReadonlyArray<BookingCustomer>> = (rows) =>
  Effect.orDie(Effect.map(Schema.decodeUnknown(Schema.Array(CustomerRow))(rows), (all) => all.map(toCustomer)))

const toCustomer = (row: CustomerRow): BookingCustomer => {
  const [created_at, updated_at] = [row.created_at.toISOString(), row.updated_at.toISOString()]
  const deleted_at = row.deleted_at?.toISOString() ?? null
  return pick({ ...row, id: row.public_id, deleted_at, created_at, updated_at }, wireKeys)
}

const isId = Schema.is(BookingCustomerId)

/** Days in the recycle bin. Customers in it for longer are not found, even before they are purged. */
const kept = "30 days"

/** The condition of a look-up outside the recycle bin, inside it, or in both. */
export const within = (sql: SqlClient.SqlClient, deleted: Deleted): Statement.Fragment => {
  // In this form no index on the time applies: the planner would use it for a page by id, and read the whole bin.
  const inBin = sql`deleted_at + ${kept}::interval > now()`
  switch (deleted) {
    case "exclude":
      return sql`deleted_at is null`
    case "only":
      return sql`(deleted_at is not null and ${inBin})`
    case "include":
      return sql`(deleted_at is null or ${inBin})`
  }
}

/**
 * Table `booking_customers`, one customer at a time. Look-ups are within one organization. Updates take a customer that was
 * locked before; their times are those of the change, not of the transaction's start, which may have waited for another
 * change.
 */
export class CustomersRepo extends Context.Tag("@svc/bookings/CustomersRepo")<
  CustomersRepo,
  {
    readonly insert: (orgId: number, details: CustomerDetails.CustomerDetails) => Effect.Effect<BookingCustomer>
    readonly find: (orgId: number, id: string, deleted: Deleted) => Effect.Effect<Option.Option<BookingCustomer>>
    /** The same, locked until the end of the transaction. */
    readonly lock: (orgId: number, id: string, deleted: Deleted) => Effect.Effect<Option.Option<BookingCustomer>>
    readonly update: (id: BookingCustomerId, details: CustomerDetails.CustomerDetails) => Effect.Effect<BookingCustomer>
    /** Moves the known ones of these ids to the recycle bin; returns them in the order of the ids. */
    readonly softDelete: (orgId: number, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<BookingCustomer>>
    readonly restore: (id: BookingCustomerId) => Effect.Effect<BookingCustomer>
    /** Replaces the customer's details irreversibly. */
    readonly anonymize: (
      id: BookingCustomerId,
      details: CustomerDetails.CustomerDetails
    ) => Effect.Effect<BookingCustomer>
    /** Number of customers that are not deleted, counted up to `most`, serialized over transactions that count. */
    readonly countLive: (orgId: number, most: number) => Effect.Effect<number>
    /** Removes at most `limit` customers whose days in the recycle bin are over; returns how many. */
    readonly purge: (limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<CustomersRepo, never, SqlClient.SqlClient> = Layer.effect(
    CustomersRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const returning = sql`returning ${sql.literal(columns)}`

      const many = (statement: Statement.Statement<unknown>) => Effect.flatMap(Effect.orDie(statement), toCustomers)
      const maybe = (statement: Statement.Statement<unknown>) =>
        Effect.map(many(statement), (rows) => Option.fromNullable(rows[0]))
      /** The result for a row that was locked before, so it exists. */
      const one = (statement: Statement.Statement<unknown>) =>
        Effect.flatMap(
          Effect.map(many(statement), ([row]) => row),
          Effect.fromNullable
        ).pipe(Effect.orDie)

      const where = (orgId: number, id: string, deleted: Deleted) =>
        sql`org_id = ${orgId} and public_id = ${id} and ${within(sql, deleted)}`

      return {
        insert: Effect.fn("CustomersRepo.insert")(function* (orgId, details) {
          const public_id = yield* newBookingCustomerId
          const row = pick({ ...details, public_id, org_id: orgId }, insertKeys)
          return yield* one(
            sql`insert into booking_customers ${sql.insert({ ...row, ...searchColumns(details) })} ${returning}`
          )
        }),
        find: (orgId, id, deleted) =>
          isId(id)
            ? maybe(sql`select ${sql.literal(columns)} from booking_customers where ${where(orgId, id, deleted)}`)
            : Effect.succeedNone,
        lock: (orgId, id, deleted) =>
          isId(id)
            ? maybe(sql`
                select ${sql.literal(columns)} from booking_customers where ${where(orgId, id, deleted)} for update`)
            : Effect.succeedNone,
        update: (id, details) =>
          one(sql`
            update booking_customers
            set ${sql.update({ ...CustomerDetails.of(details), ...searchColumns(details) })}, updated_at = clock_timestamp()
            where public_id = ${id} ${returning}`),
        softDelete: (orgId, ids) => {
          const known = ids.filter(isId)
          return many(sql`
            with locked as materialized (
              select id from booking_customers
              where org_id = ${orgId} and public_id = any(${known}::text[]) and deleted_at is null
              order by id for update
            ), removed as (
              update booking_customers set deleted_at = clock_timestamp(), updated_at = clock_timestamp()
              where org_id = ${orgId} and id in (select id from locked) ${returning}
            )
            select * from removed order by array_position(${known}::text[], public_id)`)
        },
        restore: (id) =>
          one(sql`
            update booking_customers set deleted_at = null, updated_at = clock_timestamp()
            where public_id = ${id} ${returning}`),
        anonymize: (id, details) =>
          one(sql`
            update booking_customers
            set ${sql.update({ ...CustomerDetails.of(details), search: "", search_codes: "", is_anonymized: true })}, updated_at = clock_timestamp()
            where public_id = ${id} ${returning}`),
        countLive: Effect.fn("CustomersRepo.countLive")(function* (orgId, most) {
          yield* sql`select 1 from organizations where id = ${orgId} for no key update`
          const [row] = yield* sql<{ readonly live: number }>`
            select count(*) as live from (
              select 1 from booking_customers where org_id = ${orgId} and deleted_at is null limit ${most}
            ) counted`
          return row?.live ?? 0
        }, Effect.orDie),
        purge: Effect.fn("CustomersRepo.purge")(function* (limit) {
          const removed = yield* sql`
            delete from booking_customers where (org_id, id) in (
              select org_id, id from booking_customers where deleted_at <= now() - ${kept}::interval
              limit ${limit} for update skip locked
            )
            returning 1`
          return removed.length
        }, Effect.orDie)
      }
    })
  )
}
