import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { BookingCustomerId } from "../Ids.ts"
import { Limit, Timestamp } from "../Wire.ts"
import { Page, Reply, RequiredScope } from "../Workspace.ts"
import { InvalidState, PaygLimit, ResourceNotFound, ValidationError } from "../WorkspaceError.ts"
import { BookingCustomer } from "./BookingCustomer.ts"
import { BookingCustomerCreate, BookingCustomerUpdate } from "./BookingCustomerInput.ts"

/** Whether a look-up excludes the recycle bin, is limited to it, or includes it. */
export const Deleted = Schema.Literal("exclude", "only", "include")
export type Deleted = typeof Deleted.Type

const deleted = Schema.optionalWith(Deleted, { default: () => "exclude" as const })

/** A search text: at most 200 characters. */
const SearchText = (field: string) =>
  Schema.String.pipe(Schema.maxLength(200, { message: () => `${field} must not exceed 200 characters` }))

/** Query of the list. */
export const BookingCustomersQuery = Schema.Struct({
  limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
  after: Schema.optional(Schema.String),
  q: Schema.optional(SearchText("q")),
  email: Schema.optional(SearchText("email")),
  phone: Schema.optional(SearchText("phone")),
  deleted
})
export type BookingCustomersQuery = typeof BookingCustomersQuery.Type

/** Body of the bulk deletion. */
export const BookingCustomersBulkDelete = Schema.Struct({
  ids: Schema.Array(Schema.String).pipe(
    Schema.minItems(1, { message: () => "ids must have from 1 to 100 entries" }),
    Schema.maxItems(100, { message: () => "ids must have from 1 to 100 entries" })
  )
}).annotations({ identifier: "BookingCustomersBulkDelete" })

const customers = "/bookings/customers"
const customer = `${customers}/:customerId` as const
const path = Schema.Struct({ customerId: Schema.String })

/** `/api/workspace/v1/bookings/customers`. See docs/reference/workspace.md. */
export const BookingCustomersApi = HttpApiGroup.make("bookingCustomers")
  .annotateContext(
    OpenApi.annotations({
      title: "Booking customers",
      description:
        "The people who book with an organization. A deleted one can be restored for 30 days, then it is gone for good."
    })
  )
  .add(
    HttpApiEndpoint.get("list", customers)
      .annotate(RequiredScope, "bookings.customers.read")
      .annotateContext(
        OpenApi.annotations({
          summary: "List booking customers",
          description:
            "Newest first. `q` finds a part of the name, the email or the phone number, in any case and whatever accents; `email` and `phone` find the one that has exactly these. `deleted` looks into the recycle bin too (`include`), or only there (`only`)."
        })
      )
      .setUrlParams(BookingCustomersQuery)
      .addSuccess(Page(BookingCustomer))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("create", customers)
      .annotate(RequiredScope, "bookings.customers.write")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a booking customer",
          description: "With a name, and an email address or a phone number. Emits `booking_customer.created`."
        })
      )
      .setPayload(BookingCustomerCreate)
      .addSuccess(Reply(BookingCustomer), { status: 201 })
      .addError(ValidationError.wire)
      .addError(PaygLimit.wire)
  )
  .add(
    HttpApiEndpoint.get("get", customer)
      .annotate(RequiredScope, "bookings.customers.read")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get a booking customer",
          description: "One in the recycle bin is not found, unless `deleted` is `include` or `only`."
        })
      )
      .setPath(path)
      .setUrlParams(Schema.Struct({ deleted }))
      .addSuccess(Reply(BookingCustomer))
      .addError(ValidationError.wire)
      .addError(ResourceNotFound.wire)
  )
  .add(
    HttpApiEndpoint.patch("update", customer)
      .annotate(RequiredScope, "bookings.customers.write")
      .annotateContext(
        OpenApi.annotations({
          summary: "Change a booking customer",
          description:
            "What is not named stays; null empties a field. Emits `booking_customer.updated` when something changed. An anonymized customer cannot be changed."
        })
      )
      .setPath(path)
      .setPayload(BookingCustomerUpdate)
      .addSuccess(Reply(BookingCustomer))
      .addError(ValidationError.wire)
      .addError(ResourceNotFound.wire)
      .addError(InvalidState.wire)
  )
  .add(
    HttpApiEndpoint.del("remove", customer)
      .annotate(RequiredScope, "bookings.customers.delete")
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a booking customer",
          description:
            "Moves it to the recycle bin with all its data, from where it can be restored for 30 days. Emits `booking_customer.deleted`."
        })
      )
      .setPath(path)
      .addSuccess(Reply(Schema.Struct({ id: BookingCustomerId, deleted_at: Timestamp })))
      .addError(ResourceNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("restore", `${customer}/restore`)
      .annotate(RequiredScope, "bookings.customers.delete")
      .annotateContext(
        OpenApi.annotations({
          summary: "Restore a booking customer",
          description:
            "Takes it back from the recycle bin. One that is not there, or was anonymized, is an `INVALID_STATE`. Emits `booking_customer.restored`."
        })
      )
      .setPath(path)
      .addSuccess(Reply(BookingCustomer))
      .addError(ResourceNotFound.wire)
      .addError(InvalidState.wire)
      .addError(PaygLimit.wire)
  )
  .add(
    HttpApiEndpoint.post("anonymize", `${customer}/anonymize`)
      .annotate(RequiredScope, "bookings.customers.delete")
      .annotateContext(
        OpenApi.annotations({
          summary: "Erase a booking customer's personal data",
          description:
            "For good, also of one in the recycle bin, and out of events and stored answers that carry it. Emits `booking_customer.updated`. Repeating it changes nothing."
        })
      )
      .setPath(path)
      .addSuccess(Reply(BookingCustomer))
      .addError(ResourceNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("bulkDelete", `${customers}/bulk-delete`)
      .annotate(RequiredScope, "bookings.customers.delete")
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete several booking customers",
          description:
            "Up to 100 at once, all in one step; ids that no customer has come back under `not_found`. Emits `booking_customer.deleted` for each."
        })
      )
      .setPayload(BookingCustomersBulkDelete)
      .addSuccess(
        Reply(Schema.Struct({ deleted: Schema.Array(BookingCustomerId), not_found: Schema.Array(Schema.String) }))
      )
      .addError(ValidationError.wire)
  )
