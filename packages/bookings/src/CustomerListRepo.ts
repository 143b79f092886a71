import { SqlClient } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import type { Deleted } from "@svc/api/bookings/BookingCustomersApi"
import { BookingCustomerId, parseId } from "@svc/api/Ids"
import { Context, Effect, Layer, Option } from "effect"
import { doubledPattern, type Needle } from "./CustomerSearch.ts"
import { columns, toCustomers, within } from "./CustomersRepo.ts"

/** What a page of the list has: all conditions together, newest first. */
export interface CustomerFilter {
  readonly org_id: number
  readonly deleted: Deleted
  /** Only those with a smaller numeric id: what comes after a cursor. */
  readonly before: number | undefined
  readonly email: string | undefined
  /** In E.164. */
  readonly phone: string | undefined
  readonly needle: Needle | undefined
  readonly limit: number
}

/** How many of the newest are looked through one by one before an index of parts is asked. */
const newest = 2000

const parseCursor = parseId(BookingCustomerId)

/** Lists and search of `booking_customers`. */
export class CustomerListRepo extends Context.Tag("@svc/bookings/CustomerListRepo")<
  CustomerListRepo,
  {
    /** The numeric id that a cursor stands for; also of a customer that was deleted since. */
    readonly cursor: (orgId: number, after: string) => Effect.Effect<Option.Option<number>>
    /**
     * A page of at most `limit`. A part that many customers have is found among the newest few at once; one that few have
     * is quick to find by its index. So neither costs more the more customers there are, and nothing is left to how
     * well the planner guesses which of the two a part is.
     */
    readonly page: (filter: CustomerFilter) => Effect.Effect<ReadonlyArray<BookingCustomer>>
  }
>() {
  static readonly layer: Layer.Layer<CustomerListRepo, never, SqlClient.SqlClient> = Layer.effect(
    CustomerListRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const all = sql.literal(columns)

      const conditionsOf = ({ before, deleted, email, org_id, phone }: CustomerFilter) =>
        sql.and([
          sql`org_id = ${org_id}`,
          within(sql, deleted),
          ...(before === undefined ? [] : [sql`id < ${before}`]),
          ...(email === undefined ? [] : [sql`lower(email) = lower(${email})`]),
          ...(phone === undefined ? [] : [sql`phone = ${phone}`])
        ])
      const fits = ({ patterns }: Needle) => sql.or(patterns.map((pattern) => sql`search like ${pattern}`))

      const plain = (filter: CustomerFilter) => sql`
        select ${all} from booking_customers where ${conditionsOf(filter)} order by id desc limit ${filter.limit}`

      const amongNewest = (filter: CustomerFilter, needle: Needle) => sql`
        select ${all} from (
          select ${all}, search from booking_customers
          where ${conditionsOf(filter)} order by id desc limit ${newest}
        ) newest
        where ${fits(needle)} order by id desc limit ${filter.limit}`

      const byIndex = (filter: CustomerFilter, needle: Needle) => {
        const short = [...needle.text].length === 2 ? [sql`doubled(search) like ${doubledPattern(needle.text)}`] : []
        return sql`
          with fitting as materialized (
            select id from booking_customers where ${sql.and([conditionsOf(filter), fits(needle), ...short])}
          )
          select ${all} from booking_customers
          where id in (select id from fitting order by id desc limit ${filter.limit})
          order by id desc`
      }

      return {
        cursor: Effect.fn("CustomerListRepo.cursor")(function* (orgId, after) {
          const id = parseCursor(after)
          if (id === undefined) return Option.none()
          const [found] = yield* sql<{ readonly id: number }>`
            select id from booking_customers
            where org_id = ${orgId} and ${"numeric" in id ? sql`id = ${id.numeric}` : sql`public_id = ${id.public}`}`
          return Option.map(Option.fromNullable(found), (row) => row.id)
        }, Effect.orDie),
        page: Effect.fn("CustomerListRepo.page")(function* (filter) {
          const { needle } = filter
          if (needle === undefined) return yield* toCustomers(yield* plain(filter))
          const early = yield* amongNewest(filter, needle)
          return yield* toCustomers(early.length >= filter.limit ? early : yield* byIndex(filter, needle))
        }, Effect.orDie)
      }
    })
  )
}
