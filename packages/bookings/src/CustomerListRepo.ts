import { SqlClient } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import type { Deleted } from "@svc/api/bookings/BookingCustomersApi"
import { BookingCustomerId, parseId } from "@svc/api/Ids"
import { Context, Effect, Layer, Option } from "effect"
import type { SearchTerm } from "./CustomerSearch.ts"
import { columns, toCustomers, within } from "./CustomersRepo.ts"

/** The conditions of a page; all must hold. */
export interface CustomerFilter {
  readonly org_id: number
  readonly deleted: Deleted
  /** Only customers with a smaller numeric id: those after a cursor. */
  readonly before: number | undefined
  readonly email: string | undefined
  /** In E.164. */
  readonly phone: string | undefined
  readonly term: SearchTerm | undefined
  readonly limit: number
}

const parseCursor = parseId(BookingCustomerId)

/** Lists and search of `booking_customers`. */
export class CustomerListRepo extends Context.Tag("@svc/bookings/CustomerListRepo")<
  CustomerListRepo,
  {
    /** The numeric id of a cursor's customer, also when deleted since. */
    readonly cursor: (orgId: number, after: string) => Effect.Effect<Option.Option<number>>
    /**
     * A page of at most `limit`. A search text that many customers contain is found by scanning the newest; one that
     * few contain by its index, at some microseconds per match. Which of the two applies is not known before, so both
     * are tried with a small bound, and then with larger ones. With a million customers a page takes about 10 ms.
     */
    readonly page: (filter: CustomerFilter) => Effect.Effect<ReadonlyArray<BookingCustomer>>
  }
>() {
  static readonly layer: Layer.Layer<CustomerListRepo, never, SqlClient.SqlClient> = Layer.effect(
    CustomerListRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const all = sql.literal(columns)

      /** All conditions except the organization and the search text. */
      const conditionsOf = ({ before, deleted, email, phone }: CustomerFilter) =>
        sql.and([
          within(sql, deleted),
          ...(before === undefined ? [] : [sql`id < ${before}`]),
          ...(email === undefined ? [] : [sql`lower(email) = lower(${email})`]),
          ...(phone === undefined ? [] : [sql`phone = ${phone}`])
        ])
      const matches = ({ patterns }: SearchTerm) => sql.or(patterns.map((pattern) => sql`search like ${pattern}`))

      const withoutTerm = (filter: CustomerFilter) => sql`
        select ${all} from booking_customers
        where org_id = ${filter.org_id} and ${conditionsOf(filter)} order by id desc limit ${filter.limit}`

      /** The page, if the newest `depth` customers contain enough matches. */
      const amongNewest = (depth: number) => (filter: CustomerFilter, term: SearchTerm) =>
        sql`
          select ${all} from (
            select ${all}, search from booking_customers
            where org_id = ${filter.org_id} and ${conditionsOf(filter)} order by id desc limit ${depth}
          ) newest
          where ${matches(term)} order by id desc limit ${filter.limit}`.pipe(
          Effect.map(Option.liftPredicate((rows) => rows.length === filter.limit))
        )

      /**
       * The page, if at most `maxMatches` customers match. Other conditions are applied afterwards, or the planner
       * would start with them.
       */
      const byIndex = (maxMatches: number) => (filter: CustomerFilter, term: SearchTerm) =>
        Effect.gen(function* () {
          const indexed = term.codesPattern === undefined ? matches(term) : sql`search_codes like ${term.codesPattern}`
          const [found] = yield* sql<{ readonly candidates: number; readonly ids: ReadonlyArray<number> }>`
            with candidates as materialized (
              select id, email, phone, search, deleted_at from booking_customers
              where org_id = ${filter.org_id} and ${indexed} limit ${maxMatches}
            )
            select (select count(*) from candidates) as candidates, array(
              select id from candidates where ${conditionsOf(filter)} and ${matches(term)}
              order by id desc limit ${filter.limit}
            ) as ids`
          if (found === undefined || found.candidates === maxMatches) return Option.none()
          return Option.some(
            yield* sql`
            select ${all} from booking_customers where org_id = ${filter.org_id} and id = any(${found.ids}::bigint[]) order by id desc`
          )
        })

      const attempts = [amongNewest(3000), byIndex(2000), amongNewest(60_000), byIndex(Number.MAX_SAFE_INTEGER)]

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
          const { term } = filter
          if (term === undefined) return yield* toCustomers(yield* withoutTerm(filter))
          for (const attempt of attempts) {
            const page = yield* attempt(filter, term)
            if (Option.isSome(page)) return yield* toCustomers(page.value)
          }
          return []
        }, Effect.orDie)
      }
    })
  )
}
