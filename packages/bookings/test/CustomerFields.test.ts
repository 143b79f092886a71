import { SqlClient } from "@effect/sql"
import { describe, expect, expectTypeOf, it, layer } from "@effect/vitest"
import { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import { BookingCustomerCreate, BookingCustomerUpdate } from "@svc/api/bookings/BookingCustomerInput"
import { CustomerFields } from "@svc/api/bookings/CustomerFields"
import { variant } from "@svc/api/EntityFields"
import { Effect, Schema, Struct, TestClock } from "effect"
import * as CustomerDetails from "../src/CustomerDetails.ts"
import { CustomerList } from "../src/CustomerList.ts"
import { Customers } from "../src/Customers.ts"
import { CustomerRow, CustomersRepo } from "../src/CustomersRepo.ts"
import { seedCustomers } from "../src/testing/SeedCustomers.ts"
import { anna, eventsOf, organization, Test } from "./Account.ts"

const details = Struct.keys(CustomerDetails.blank)
const keysOf = (schema: { readonly fields: object }) => Object.keys(schema.fields)
type Detail = keyof CustomerDetails.CustomerDetails

/** A customer with a value in every detail, none of which is the initial one. */
const full = {
  name: "Anna de Vries",
  email: "anna@example.com",
  phone: "+442079460958",
  address: "Strand 1",
  postcode: "SW1A 1AA",
  city: "London",
  country: "GB",
  language: "en",
  birthdate: "1987-04-30",
  marketing_opt_in: true,
  notes: "mornings"
} satisfies CustomerDetails.CustomerDetails

describe("the list of a booking customer's fields", () => {
  it("gives both bodies the details and nothing else; POST requires only the name", () => {
    expect(keysOf(BookingCustomerCreate)).toEqual(details)
    expect(keysOf(BookingCustomerUpdate)).toEqual(details)
    expectTypeOf<typeof BookingCustomerUpdate.Type>().toEqualTypeOf<Partial<CustomerDetails.CustomerDetails>>()
    expectTypeOf<typeof BookingCustomerCreate.Type>().branded.toEqualTypeOf<
      Pick<CustomerDetails.CustomerDetails, "name"> & Partial<CustomerDetails.CustomerDetails>
    >()
    expect(Schema.decodeUnknownSync(BookingCustomerUpdate)({})).toEqual({})
    expect(Schema.decodeUnknownSync(BookingCustomerCreate)({ name: " Anna " })).toEqual({ name: "Anna" })
    expect(() => Schema.decodeUnknownSync(BookingCustomerCreate)({})).toThrow("name")
  })

  it("keeps every detail with the same type in the response, the row and the inserted columns", () => {
    for (const schema of [BookingCustomer, CustomerRow, variant(CustomerFields, "insert")]) {
      expect(keysOf(schema).filter((key) => details.some((detail) => detail === key))).toEqual(details)
    }
    expectTypeOf<Pick<BookingCustomer, Detail>>().toEqualTypeOf<CustomerDetails.CustomerDetails>()
    expectTypeOf<Pick<typeof CustomerRow.Type, Detail>>().toEqualTypeOf<CustomerDetails.CustomerDetails>()
  })

  it("shows public_id as id, and no internal column in responses", () => {
    expect(keysOf(CustomerRow).filter((key) => !keysOf(BookingCustomer).includes(key))).toEqual(["public_id"])
    expect(keysOf(variant(CustomerFields, "insert"))).toEqual(["public_id", "org_id", ...details])
  })

  it("gives every detail an initial value, which erasure restores in all but name, country and language", () => {
    expect(Struct.omit(CustomerDetails.blank, "name", "country", "language", "marketing_opt_in")).toEqual(
      Object.fromEntries(
        ["email", "phone", "address", "postcode", "city", "birthdate", "notes"].map((key) => [key, null])
      )
    )
    for (const detail of details) expect(full[detail]).not.toEqual(CustomerDetails.blank[detail])
    const erased = CustomerDetails.anonymous(full)
    expect(Object.keys(erased)).toEqual(details)
    expect(details.filter((detail) => erased[detail] !== CustomerDetails.blank[detail])).toEqual([
      "name",
      "country",
      "language"
    ])
  })
})

layer(Test)("a booking customer with its list of fields", (it) => {
  it.effect("has a column for every field of the row and the insertion, and two that only the database uses", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string }>`
        select column_name as name from information_schema.columns
        where table_schema = current_schema() and table_name = 'booking_customers'`
      const listed = new Set([...keysOf(CustomerRow), ...keysOf(variant(CustomerFields, "insert"))])
      expect(columns.map(({ name }) => name).toSorted()).toEqual([...listed, "search", "search_codes"].toSorted())
    })
  )

  it.effect("answers with exactly the fields of the response, in their order, alone, in a list and in events", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const list = yield* CustomerList
      const org = yield* organization()
      yield* TestClock.setTime(new Date("2026-11-21"))
      const created = yield* customers.create(org, full)
      expect(Struct.pick(created, ...details)).toEqual(full)
      const page = yield* list.page(org, { limit: 1, deleted: "exclude" })
      const [event] = yield* eventsOf(org.id)
      expect(event?.data["customer"]).toEqual(created)
      for (const shown of [created, yield* customers.get(org, created.id, "exclude"), ...page.customers]) {
        expect(Object.keys(shown)).toEqual(keysOf(BookingCustomer))
        expect(yield* Schema.validate(BookingCustomer, { onExcessProperty: "error" })(shown)).toEqual(created)
      }
    })
  )

  it.effect("is created with the initial values, and changed and anonymized in its details only", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const repo = yield* CustomersRepo
      const org = yield* organization()
      const created = yield* customers.create(org, anna())
      expect(Struct.pick(created, ...details)).toEqual({ ...CustomerDetails.blank, ...anna() })
      const written = yield* repo.update(created.id, full)
      expect(written).toEqual({ ...created, ...full, updated_at: written.updated_at })
      const erased = yield* customers.anonymize(org, created.id)
      expect(erased).toEqual({
        ...created,
        ...CustomerDetails.anonymous(full),
        is_anonymized: true,
        updated_at: erased.updated_at
      })
    })
  )

  it.effect("is seeded for benchmarks with the initial values", () =>
    Effect.gen(function* () {
      const org = yield* organization()
      yield* seedCustomers(org.id, 3)
      const { customers } = yield* Effect.flatMap(CustomerList, (list) =>
        list.page(org, { limit: 3, deleted: "exclude" })
      )
      expect(customers.length).toBe(3)
      for (const { email, name, phone, ...rest } of customers) {
        expect(rest).toMatchObject(Struct.omit(CustomerDetails.blank, "name", "email", "phone"))
        expect([name, email, phone].every((text) => text !== null && text !== "")).toBe(true)
      }
    })
  )
})
