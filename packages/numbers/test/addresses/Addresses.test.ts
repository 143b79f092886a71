import { SqlClient } from "@effect/sql"
import { describe, expect, expectTypeOf, it, layer } from "@effect/vitest"
import { Address, AddressCreate } from "@svc/api/addresses/Address"
import { Projects } from "@svc/auth/Projects"
import { TestDatabase } from "@svc/database/TestDatabase"
import { CarrierUnavailable } from "@svc/providers/Carrier"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Schema, TestClock } from "effect"
import { Addresses } from "../../src/addresses/Addresses.ts"
import { AddressRow } from "../../src/addresses/AddressesRepo.ts"
import { PhoneNumbers } from "../../src/PhoneNumbers.ts"
import { AddressesDouble } from "../CarrierDoubles.ts"
import { owner, services } from "../Fixture.ts"
import { body, eventsOf, verdict } from "./Fixture.ts"

const carrier = new AddressesDouble()
const Test = services({ carrier }).pipe(Layer.provideMerge(TestDatabase.layer))

const created = Effect.gen(function* () {
  const addresses = yield* Addresses
  const by = yield* owner
  return { by, address: yield* addresses.create(by, body("Anna")) }
})

/** Sessions that wait for a lock. */
const waiting = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
).pipe(Effect.repeat({ until: (rows) => rows.length > 0 }))

/** What is left of the personal data of an address. */
const personalData = (id: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly data: string }>`
      select concat(customer_name, street, city, postcode, region, number_types) as data from addresses where id = ${id}`
  ).pipe(Effect.map((rows) => rows.map(({ data }) => data)))

let numbers = 0
/** Gives the address to a new number, as a purchase does. */
const use = (by: Effect.Effect.Success<typeof owner>, addressId: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const phoneNumbers = yield* PhoneNumbers
    const imported = { number: `+3120${7_000_000 + ++numbers}`, telephony: "carrier" }
    const { id } = yield* phoneNumbers.import(by, imported)
    yield* sql`update phone_numbers set address_id = ${addressId} where id = ${id}`
    return id
  })

describe("the list of an address's fields", () => {
  const decode = Schema.decodeUnknownEither(AddressCreate)
  const reasons = (given: object) => String(decode({ ...body("Anna"), ...given }))

  it("gives the response its documented fields in their order", () => {
    expect(Object.keys(Address.fields)).toEqual(
      "id customer_name street city postcode region country number_types status created_at updated_at".split(" ")
    )
    expectTypeOf<Pick<AddressRow, keyof AddressCreate>>().toEqualTypeOf<AddressCreate>()
  })

  it("trims every text, reads the country in any case, and makes an empty region null", () => {
    const given = { customer_name: " A ", street: " B\n", city: " C", postcode: "D ", region: "  ", country: " nl " }
    const expected = { customer_name: "A", street: "B", city: "C", postcode: "D", region: null, country: "NL" }
    expect(Schema.decodeUnknownSync(AddressCreate)(given)).toEqual(expected)
    const { region, ...rest } = expected
    expect(Schema.decodeUnknownSync(AddressCreate)(rest)).toEqual({ ...rest, region })
  })

  it.each([
    ["customer_name", 200],
    ["street", 200],
    ["city", 100],
    ["postcode", 20],
    ["region", 100]
  ])("limits %s to %i characters without NUL", (field, max) => {
    expect(reasons({ [field]: "é".repeat(max) })).toMatch(/^Right|"_tag": "Right"/)
    expect(reasons({ [field]: "é".repeat(max + 1) })).toContain(`${field} must not exceed ${max} characters`)
    expect(reasons({ [field]: "a\u0000b" })).toContain(`${field} must not contain NUL characters`)
    if (field !== "region") expect(reasons({ [field]: "  " })).toContain(`${field} is required.`)
  })

  it("refuses a country that is none", () => {
    for (const country of ["ZZ", "NLD", "", "31"]) expect(reasons({ country })).toContain("ISO 3166-1 alpha-2")
  })
})

layer(Test)("Addresses", (it) => {
  it.effect("has a column for every field of the row", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string }>`
        select column_name as name from information_schema.columns
        where table_schema = current_schema() and table_name = 'addresses'`
      const internal = ["next_at", "leased_by", "deleted_at"]
      expect(columns.map(({ name }) => name).toSorted()).toEqual(
        [...Object.keys(AddressRow.fields), ...internal].toSorted()
      )
    })
  )

  it.effect("creates a pending address with the types that the carrier verifies, and its event", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const { address, by } = yield* created
      const number_types = [verdict("local", "pending"), verdict("mobile", "pending")]
      expect(address).toEqual({
        ...body("Anna"),
        id: address.id,
        number_types,
        status: "pending",
        created_at: expect.stringMatching(/Z$/),
        updated_at: address.created_at
      })
      expect(yield* addresses.get(by.project, String(address.id))).toEqual(address)
      expect(yield* eventsOf(address.id)).toEqual([
        {
          event: "address.verification.pending",
          data: { address_id: address.id, status: "pending" },
          project_id: by.project.id,
          agent_id: null
        }
      ])
    })
  )

  it.effect("demands the fields that the carrier demands for the country", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const by = yield* owner
      const usual = carrier.requirements
      carrier.requirements = (country) =>
        Effect.succeed({ fields: country === "US" ? ["region", "street"] : [], number_types: [] })
      const us = { ...body("Anna"), country: "US" }
      const error = yield* Effect.flip(addresses.create(by, us))
      const message = "region is required for this country"
      expect(error).toMatchObject({ code: "VALIDATION_ERROR", message, details: { region: message } })
      expect(yield* addresses.create(by, { ...us, region: "NY" })).toMatchObject({ region: "NY", number_types: [] })
      yield* addresses.create(by, body("Anna"))
      expect((yield* addresses.list(by.project, { limit: 10 })).addresses).toHaveLength(2)
      carrier.requirements = usual
    })
  )

  it.effect("accepts an address when the carrier cannot be reached or hangs", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const by = yield* owner
      const usual = carrier.requirements
      carrier.requirements = () => new CarrierUnavailable({ reason: "503" })
      expect(yield* addresses.create(by, body("Anna"))).toMatchObject({ status: "pending", number_types: [] })
      carrier.requirements = () => Effect.never
      const slow = yield* Effect.fork(addresses.create(by, body("Anna")))
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => Effect.map(Fiber.poll(slow), Option.isSome) })
      expect(yield* Fiber.join(slow)).toMatchObject({ status: "pending", number_types: [] })
      carrier.requirements = usual
    })
  )

  it.effect("lists the addresses of the project in pages, newest first", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const { by: other } = yield* created
      const by = yield* owner
      const made = yield* Effect.replicateEffect(addresses.create(by, body("Anna")), 5)
      const gone = made[2]?.id ?? 0
      const ids = made.map(({ id }) => id).toReversed()
      const first = yield* addresses.list(by.project, { limit: 3 })
      expect(first.addresses.map(({ id }) => id)).toEqual(ids.slice(0, 3))
      expect(first.next_cursor).toBe(String(gone))
      // A cursor whose address was deleted is still one.
      yield* addresses.remove(by.project, String(gone))
      const second = yield* addresses.list(by.project, { limit: 3, after: String(gone) })
      expect(second).toMatchObject({ addresses: [{ id: ids[3] }, { id: ids[4] }], next_cursor: null })
      for (const after of ["", "x", "-1", "\u0000", "9".repeat(15), "9".repeat(30)]) {
        const error = yield* Effect.flip(addresses.list(by.project, { limit: 3, after }))
        expect(Object.keys(error.details ?? {})).toEqual(["after"])
      }
      const foreign = yield* Effect.flip(addresses.list(other.project, { limit: 3, after: String(gone) }))
      expect(foreign.code).toBe("VALIDATION_ERROR")
    })
  )

  it.effect("does not find addresses of other projects, and ids that are none", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const { address } = yield* created
      const by = yield* owner
      for (const id of [String(address.id), "", "0", "-1", "1e3", "\u0000", "9".repeat(30), `${address.id} `]) {
        expect((yield* Effect.flip(addresses.get(by.project, id))).code).toBe("ADDRESS_NOT_FOUND")
        expect((yield* Effect.flip(addresses.remove(by.project, id))).code).toBe("ADDRESS_NOT_FOUND")
      }
      expect(yield* addresses.pin(by.project.id, address.id)).toEqual(Option.none())
    })
  )

  it.effect("refuses to delete an address that an active number has, until the number is released", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const addresses = yield* Addresses
      const { address, by } = yield* created
      const id = String(address.id)
      const number = yield* use(by, address.id)
      expect((yield* Effect.flip(addresses.remove(by.project, id))).code).toBe("ADDRESS_IN_USE")
      expect(yield* addresses.get(by.project, id)).toEqual(address)
      yield* sql`update phone_numbers set status = 'released' where id = ${number}`
      yield* addresses.remove(by.project, id)
      expect((yield* Effect.flip(addresses.get(by.project, id))).code).toBe("ADDRESS_NOT_FOUND")
      expect((yield* Effect.flip(addresses.remove(by.project, id))).code).toBe("ADDRESS_NOT_FOUND")
    })
  )

  it.effect("makes a deletion wait for a purchase that has pinned the address, and then refuses it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const addresses = yield* Addresses
      const { address, by } = yield* created
      const pinned = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const purchase = yield* Effect.fork(
        sql.withTransaction(
          Effect.gen(function* () {
            expect(Option.getOrThrow(yield* addresses.pin(by.project.id, address.id))).toMatchObject(body("Anna"))
            yield* Deferred.succeed(pinned, undefined)
            yield* Deferred.await(go)
            yield* use(by, address.id)
          })
        )
      )
      yield* Deferred.await(pinned)
      const deletion = yield* Effect.fork(Effect.flip(addresses.remove(by.project, String(address.id))))
      yield* waiting
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(purchase)
      expect((yield* Fiber.join(deletion)).code).toBe("ADDRESS_IN_USE")
    })
  )

  it.effect("erases the personal data of a deleted address at once, and keeps that of others", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const { address, by } = yield* created
      const other = yield* addresses.create(by, body("Berta"))
      yield* addresses.remove(by.project, String(address.id))
      expect(yield* personalData(address.id)).toEqual(["[]"])
      expect(yield* addresses.get(by.project, String(other.id))).toEqual(other)
    })
  )

  it.effect("does not pin an address that is being deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const addresses = yield* Addresses
      const { address, by } = yield* created
      const removed = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const deletion = yield* Effect.fork(
        sql.withTransaction(
          addresses
            .remove(by.project, String(address.id))
            .pipe(Effect.zipRight(Deferred.succeed(removed, undefined)), Effect.zipRight(Deferred.await(go)))
        )
      )
      yield* Deferred.await(removed)
      const purchase = yield* Effect.fork(addresses.pin(by.project.id, address.id))
      yield* waiting
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(deletion)
      expect(yield* Fiber.join(purchase)).toEqual(Option.none())
    })
  )

  it.effect("ends with the project: its addresses are no longer found nor asked about", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const addresses = yield* Addresses
      const projects = yield* Projects
      const { address, by } = yield* created
      const other = yield* created
      yield* projects.remove(by.org.id, by.project.public_id)
      expect((yield* Effect.flip(addresses.get(by.project, String(address.id)))).code).toBe("ADDRESS_NOT_FOUND")
      expect(yield* personalData(address.id)).toEqual(["[]"])
      expect(yield* sql`select id from addresses where project_id = ${by.project.id} and next_at is not null`).toEqual(
        []
      )
      yield* addresses.get(other.by.project, String(other.address.id))
      expect(Exit.isFailure(yield* Effect.exit(addresses.create(by, body("Late"))))).toBe(true)
    })
  )

  it.effect("ends with a project whose deletion meets a purchase with the address, without a deadlock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const addresses = yield* Addresses
      const projects = yield* Projects
      const { address, by } = yield* created
      const pinned = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const purchase = yield* Effect.fork(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* addresses.pin(by.project.id, address.id)
            yield* Deferred.succeed(pinned, undefined)
            yield* Deferred.await(go)
            yield* use(by, address.id)
          })
        )
      )
      yield* Deferred.await(pinned)
      // Does not wait for the pin.
      yield* projects.remove(by.org.id, by.project.public_id)
      yield* Deferred.succeed(go, undefined)
      // The number of a deleted project is refused.
      expect(Exit.isFailure(yield* Fiber.await(purchase))).toBe(true)
      expect((yield* Effect.flip(addresses.get(by.project, String(address.id)))).code).toBe("ADDRESS_NOT_FOUND")
    })
  )
})
