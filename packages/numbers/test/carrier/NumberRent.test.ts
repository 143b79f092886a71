import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Billing } from "@svc/billing/Billing"
import { CarrierUnavailable } from "@svc/providers/Carrier"
import { Effect } from "effect"
import { NumberOrders } from "../../src/carrier/NumberOrders.ts"
import { NumberRent } from "../../src/carrier/NumberRent.ts"
import { describeDifference, Reconciliation } from "../../src/carrier/Reconciliation.ts"
import { PhoneNumbers } from "../../src/PhoneNumbers.ts"
import { NumbersDouble } from "../CarrierDoubles.ts"
import { ownerWith } from "../Fixture.ts"
import { freshNumber, onDatabase } from "./Fixture.ts"

const carrier = new NumbersDouble()

/** Buys a number as if at this time. */
const boughtAt = (owner: Effect.Effect.Success<ReturnType<typeof ownerWith>>, time: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const orders = yield* NumberOrders
    const { id, number } = yield* orders.purchase(owner, { number: yield* freshNumber })
    yield* sql`
      update phone_numbers set purchased_at = ${time}::timestamptz, rent_paid_until =
        ((${time}::timestamptz at time zone 'UTC') + interval '1 month') at time zone 'UTC'
      where id = ${id}`
    return { id, number }
  })
const rentsOf = (orgId: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly reference: string }>`
      select reference from ledger_entries where org_id = ${orgId} and kind = 'number_rent' order by id`
  ).pipe(Effect.map((rows) => rows.map(({ reference }) => reference.split("/")[1]).slice(1)))
const chargeAt = (time: string) => Effect.flatMap(NumberRent, (rent) => rent.chargeDue(new Date(time)))

layer(onDatabase({ carrier }))("the rent of a number", (it) => {
  it.effect("is debited on the day of the purchase of each month, or on the last day of a shorter one", () =>
    Effect.gen(function* () {
      const owner = yield* ownerWith("100")
      yield* boughtAt(owner, "2027-01-31T22:30:00Z")
      expect(yield* chargeAt("2027-02-28T22:29:59Z")).toBe(0)
      expect(yield* chargeAt("2027-02-28T22:30:00Z")).toBe(1)
      expect(yield* chargeAt("2027-03-31T22:29:59Z")).toBe(0)
      expect(yield* chargeAt("2027-03-31T22:30:00Z")).toBe(1)
      // A server that was down for months.
      expect(yield* chargeAt("2027-07-15T00:00:00Z")).toBe(3)
      expect(yield* chargeAt("2027-07-15T00:00:00Z")).toBe(0)
      expect(yield* rentsOf(owner.org.id)).toEqual([
        "2027-02-28",
        "2027-03-31",
        "2027-04-30",
        "2027-05-31",
        "2027-06-30"
      ])
      const billing = yield* Billing
      expect((yield* billing.account(owner.org.id)).balance_eur).toBe(70)
    })
  )

  it.effect("is debited once by servers at once, also when the balance cannot pay it, and the account is paused", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const owner = yield* ownerWith("5")
      yield* boughtAt(owner, "2028-01-10T00:00:00Z")
      const charge = chargeAt("2028-03-10T00:00:00Z")
      yield* Effect.all([charge, charge, charge], { concurrency: "unbounded" })
      expect(yield* rentsOf(owner.org.id)).toEqual(["2028-02-10", "2028-03-10"])
      expect(yield* billing.account(owner.org.id)).toMatchObject({ balance_eur: -10, is_paused: true })
    })
  )

  it.effect("ends with the release, and an imported number has none", () =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("20")
      const { id } = yield* boughtAt(owner, "2029-01-10T00:00:00Z")
      const own = yield* freshNumber
      carrier.rented.set(own, { number: own, carrier_id: "own" })
      yield* numbers.import(owner, { number: own, telephony: "carrier" })
      yield* orders.release(owner.project, String(id))
      yield* chargeAt("2031-03-10T00:00:00Z")
      expect(yield* rentsOf(owner.org.id)).toEqual([])
    })
  )
})

const compared = new NumbersDouble()
layer(onDatabase({ sip: undefined, carrier: compared }))("the reconciliation", (it) => {
  it.effect("names numbers that only one side has, and says what to do; it changes nothing", () =>
    Effect.gen(function* () {
      const { differences } = yield* Reconciliation
      const orders = yield* NumberOrders
      const sql = yield* SqlClient.SqlClient
      const owner = yield* ownerWith("20")
      const [unknown, missing] = [yield* freshNumber, yield* freshNumber]
      yield* orders.purchase(owner, { number: yield* freshNumber })
      yield* orders.purchase(owner, { number: missing })
      expect(yield* differences).toEqual([])
      compared.rented.set(unknown, { number: unknown, carrier_id: "PN1" })
      compared.rented.delete(missing)
      // The order has just ended, so the two lists may be of different moments.
      expect((yield* differences).map(({ kind }) => kind)).toEqual(["unknown"])
      yield* sql`update number_orders set finished_at = now() - interval '1 hour'`
      const found = yield* differences
      expect(found).toEqual([
        { telephony: "carrier", kind: "unknown", number: unknown, carrier_id: "PN1" },
        { telephony: "carrier", kind: "missing", number: missing, org_id: owner.org.id, project_id: owner.project.id }
      ])
      expect(found.map(describeDifference).join()).toMatch(/PN1.*import it.*rent it again/)
      expect([compared.rented.has(unknown), compared.releases]).toEqual([true, []])
    })
  )

  it.effect("says which carrier did not list its numbers", () =>
    Effect.gen(function* () {
      const silent = {
        ...new NumbersDouble().numbers,
        owned: Effect.fail(new CarrierUnavailable({ reason: "down" }))
      }
      const double = new NumbersDouble()
      Object.assign(double, { numbers: silent })
      const found = yield* Effect.flatMap(Reconciliation, ({ differences }) => differences).pipe(
        Effect.provide(onDatabase({ carrier: double }))
      )
      expect(found).toEqual([{ telephony: "carrier", kind: "unavailable", reason: "down" }])
    })
  )
})
