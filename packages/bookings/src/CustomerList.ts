import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import type { BookingCustomersQuery } from "@svc/api/bookings/BookingCustomersApi"
import type { BookingCustomerId } from "@svc/api/Ids"
import type { WorkspacePrincipal } from "@svc/api/Workspace"
import { ValidationError } from "@svc/api/WorkspaceError"
import { Context, Effect, Layer, Option } from "effect"
import { CustomerListRepo } from "./CustomerListRepo.ts"
import { searchTermOf } from "./CustomerSearch.ts"
import { toE164 } from "./PhoneNumber.ts"

/** A page, newest first. `next_cursor` is null on the last one. */
export interface CustomerPage {
  readonly customers: ReadonlyArray<BookingCustomer>
  readonly next_cursor: BookingCustomerId | null
}

/** In a query an unescaped plus sign is a space, and clients forget to escape the one of a phone number. */
const unescapedPlus = (text: string): string => text.replace(/^ (?=[0-9])/, "+")

/** Lists and searches booking customers. */
export class CustomerList extends Context.Tag("@svc/bookings/CustomerList")<
  CustomerList,
  {
    /**
     * `after` is the id of the last customer of the page before; an unknown one is a `ValidationError`. Empty
     * conditions are ignored. A `phone` without country code is read as a Dutch one.
     */
    readonly page: (
      org: WorkspacePrincipal["org"],
      query: BookingCustomersQuery
    ) => Effect.Effect<CustomerPage, ValidationError>
  }
>() {
  static readonly layer: Layer.Layer<CustomerList, never, CustomerListRepo> = Layer.effect(
    CustomerList,
    Effect.map(CustomerListRepo, (repo) => ({
      page: Effect.fn("CustomerList.page")(function* (org, query) {
        const before = query.after === undefined ? Option.none() : yield* repo.cursor(org.id, query.after)
        if (query.after !== undefined && Option.isNone(before)) {
          return yield* ValidationError.fields(["after"], "after must be the id of a booking customer")
        }
        const phone = unescapedPlus(query.phone ?? "").trim()
        const rows = yield* repo.page({
          org_id: org.id,
          deleted: query.deleted,
          before: Option.getOrUndefined(before),
          email: query.email?.trim() || undefined,
          phone: phone === "" ? undefined : (toE164(phone, "NL") ?? phone),
          term: searchTermOf(query.q ?? ""),
          limit: query.limit + 1
        })
        const customers = rows.slice(0, query.limit)
        return { customers, next_cursor: rows.length > query.limit ? (customers.at(-1)?.id ?? null) : null }
      })
    }))
  )
}
