import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Outbox } from "@svc/database/Outbox"
import { Effect, Exit, Layer, TestClock } from "effect"
import { Customers } from "../src/Customers.ts"
import { anna, eventsOf, limits, organization, Test } from "./Account.ts"

layer(Test)("Customers", (it) => {
  it.effect("creating, updating, deleting and restoring a customer emits one event each", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const created = yield* customers.create(org, anna({ phone: "06 12345678" }))
      const updated = yield* customers.update(org, created.id, { city: "Utrecht" })
      expect(updated).toEqual({ ...created, city: "Utrecht", updated_at: updated.updated_at })
      const removed = yield* customers.remove(org, created.id)
      const inBin = yield* customers.get(org, created.id, "only")
      expect(inBin).toEqual({ ...updated, deleted_at: removed.deleted_at, updated_at: removed.deleted_at })
      const restored = yield* customers.restore(org, created.id)
      expect(restored).toEqual({ ...updated, updated_at: restored.updated_at })

      const events = yield* eventsOf(org.id)
      expect(events.map(({ event, data }) => [event, data])).toEqual([
        ["booking_customer.created", { customer_id: created.id, customer: created }],
        ["booking_customer.updated", { customer_id: created.id, customer: updated }],
        ["booking_customer.deleted", { customer_id: created.id, customer: inBin }],
        ["booking_customer.restored", { customer_id: created.id, customer: restored }]
      ])
      for (const { agent_id, call_id, project_id } of events)
        expect([agent_id, call_id, project_id]).toEqual([null, null, null])
    })
  )

  it.effect("an unknown or malformed id, or one of another organization, is not found and not changed", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const other = yield* organization()
      const foreign = yield* customers.create(other, anna())
      for (const id of [foreign.id, `bcus_${"0".repeat(24)}`, "bcus_x", "1", "", "' or 1=1", "\u0000"]) {
        const answers = yield* Effect.all([
          Effect.flip(customers.get(org, id, "include")),
          Effect.flip(customers.update(org, id, { name: "Mallory" })),
          Effect.flip(customers.remove(org, id)),
          Effect.flip(customers.restore(org, id)),
          Effect.flip(customers.anonymize(org, id))
        ])
        for (const answer of answers) {
          expect([answer._tag, answer.message]).toEqual(["ResourceNotFound", "No such resource"])
        }
      }
      expect(yield* customers.removeMany(org, [foreign.id])).toEqual({ deleted: [], not_found: [foreign.id] })
      expect(yield* customers.get(other, foreign.id, "exclude")).toEqual(foreign)
      expect(yield* eventsOf(org.id)).toEqual([])
    })
  )

  it.effect("a customer in the recycle bin is returned only with deleted, and cannot be changed or deleted again", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const { id } = yield* customers.create(org, anna())
      yield* customers.remove(org, id)
      const refusals = yield* Effect.all([
        Effect.flip(customers.get(org, id, "exclude")),
        Effect.flip(customers.update(org, id, { name: "B" })),
        Effect.flip(customers.remove(org, id))
      ])
      for (const { _tag } of refusals) expect(_tag).toBe("ResourceNotFound")
      expect((yield* customers.get(org, id, "include")).id).toBe(id)
    })
  )

  it.effect("a customer outside the recycle bin cannot be restored", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const { id } = yield* customers.create(org, anna())
      expect((yield* Effect.flip(customers.restore(org, id)))._tag).toBe("InvalidState")
    })
  )

  it.effect("after 30 days in the recycle bin a customer is not found, even before the purge", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization()
      const { id } = yield* customers.create(org, anna())
      yield* customers.remove(org, id)
      const age = (time: string) =>
        sql`update booking_customers set deleted_at = now() - ${time}::interval where public_id = ${id}`
      yield* age("29 days 23 hours")
      expect((yield* customers.get(org, id, "include")).id).toBe(id)
      yield* age("30 days 1 second")
      for (const look of [customers.get(org, id, "include"), customers.get(org, id, "only")]) {
        expect((yield* Effect.flip(look))._tag).toBe("ResourceNotFound")
      }
      expect((yield* Effect.flip(customers.restore(org, id)))._tag).toBe("ResourceNotFound")
    })
  )

  it.effect("an update without a difference writes nothing", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const created = yield* customers.create(org, anna({ phone: "06 12345678", postcode: "1012lg" }))
      const same = { name: "Anna de Vries", phone: "+31612345678", postcode: "1012 LG" }
      expect(yield* customers.update(org, created.id, {})).toEqual(created)
      expect(yield* customers.update(org, created.id, same)).toEqual(created)
      expect((yield* eventsOf(org.id)).length).toBe(1)
    })
  )

  it.effect("a refused update changes nothing", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const created = yield* customers.create(org, anna())
      const error = yield* Effect.flip(customers.update(org, created.id, { name: "B", email: null }))
      expect(error._tag).toBe("ValidationError")
      expect(yield* customers.get(org, created.id, "exclude")).toEqual(created)
    })
  )

  it.effect("concurrent updates of one customer are all applied, one after the other", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const { id } = yield* customers.create(org, anna())
      const fields = ["address", "city", "notes"] as const
      yield* Effect.forEach(fields, (field) => customers.update(org, id, { [field]: field }), { concurrency: 3 })
      expect(yield* customers.get(org, id, "exclude")).toMatchObject({
        address: "address",
        city: "city",
        notes: "notes"
      })
    })
  )

  it.effect("of concurrent deletions of one customer one succeeds", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const { id } = yield* customers.create(org, anna())
      const exits = yield* Effect.replicateEffect(Effect.exit(customers.remove(org, id)), 20, { concurrency: 20 })
      expect(exits.filter(Exit.isSuccess).length).toBe(1)
      expect((yield* eventsOf(org.id)).length).toBe(2)
    })
  )

  it.effect("a bulk deletion deletes each customer once, and returns unknown ids", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const ids = yield* Effect.forEach(["a", "b", "c"], (name) =>
        Effect.map(customers.create(org, anna({ name })), ({ id }) => id)
      )
      const [a = "", b = "", c = ""] = ids
      yield* customers.remove(org, b)
      const unknown = `bcus_${"0".repeat(24)}`
      expect(yield* customers.removeMany(org, [c, unknown, b, a, c, "nonsense"])).toEqual({
        deleted: [c, a],
        not_found: [unknown, b, "nonsense"]
      })
      const deletions = (yield* eventsOf(org.id)).filter(({ event }) => event === "booking_customer.deleted")
      expect(deletions.map(({ data }) => data["customer_id"])).toEqual([b, c, a])
    })
  )

  it.effect("overlapping bulk deletions in opposite orders do not deadlock", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const ids = yield* Effect.replicateEffect(
        Effect.map(customers.create(org, anna()), ({ id }) => id),
        30
      )
      const results = yield* Effect.all(
        [customers.removeMany(org, ids), customers.removeMany(org, [...ids].reverse())],
        {
          concurrency: 2
        }
      )
      expect(results.flatMap(({ deleted }) => deleted).sort()).toEqual([...ids].sort())
    })
  )

  it.effect("erasure removes personal data from the customer, events and search irreversibly", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization()
      yield* TestClock.setTime(new Date("2026-11-21"))
      const secret = { name: "Geheim Persoon", email: "geheim@example.com", phone: "06 87654321", notes: "geheim" }
      const { id } = yield* customers.create(org, { ...secret, birthdate: "1987-04-30", address: "Geheimlaan 1" })
      yield* customers.update(org, id, { city: "Geheimstad" })
      const erased = yield* customers.anonymize(org, id)
      expect(erased).toMatchObject({ id, is_anonymized: true, deleted_at: null, email: null, phone: null, notes: null })
      expect(yield* customers.get(org, id, "exclude")).toEqual(erased)

      const rows = yield* sql`select to_jsonb(c)::text as text from booking_customers c where public_id = ${id}`
      const events = yield* eventsOf(org.id)
      expect(JSON.stringify([rows, events])).not.toMatch(/geheim|87654321|1987/i)
      expect(events.map(({ event }) => event)).toEqual([
        "booking_customer.created",
        "booking_customer.updated",
        "booking_customer.updated"
      ])

      expect((yield* Effect.flip(customers.update(org, id, { name: "B" })))._tag).toBe("InvalidState")
      expect((yield* Effect.flip(customers.restore(org, id)))._tag).toBe("InvalidState")
      expect(yield* customers.anonymize(org, id)).toEqual(erased)
      expect((yield* eventsOf(org.id)).length).toBe(3)
    })
  )

  it.effect("a customer in the recycle bin can be erased, and then not restored", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const { id } = yield* customers.create(org, anna())
      const { deleted_at } = yield* customers.remove(org, id)
      expect(yield* customers.anonymize(org, id)).toMatchObject({ is_anonymized: true, deleted_at })
      const error = yield* Effect.flip(customers.restore(org, id))
      expect([error._tag, error.message]).toEqual(["InvalidState", "A GDPR-anonymized customer cannot be restored"])
    })
  )

  it.effect(
    "the tier PAYG is limited to SVC_LIMIT_BOOKING_CUSTOMERS_PAYG customers, also when created concurrently; deleted ones do not count",
    () =>
      Effect.gen(function* () {
        const customers = yield* Customers
        const org = yield* organization("payg")
        const exits = yield* Effect.replicateEffect(Effect.exit(customers.create(org, anna())), 20, { concurrency: 20 })
        const created = exits.filter(Exit.isSuccess).map(({ value }) => value)
        expect(created.length).toBe(limits.paygCustomers)
        const [first] = created
        const id = first?.id ?? ""
        yield* customers.remove(org, id)
        yield* customers.create(org, anna())
        expect((yield* Effect.flip(customers.restore(org, id)))._tag).toBe("PaygLimit")
        expect((yield* Effect.flip(customers.create(org, anna())))._tag).toBe("PaygLimit")

        const paying = { ...org, tier: "starter" } as const
        expect((yield* customers.restore(paying, id)).deleted_at).toBe(null)
      })
  )
})

/** An outbox whose appends fail. */
const BrokenOutbox = Layer.mock(Outbox, { appendAll: () => Effect.die(new Error("the disk is full")) })

layer(Layer.fresh(Customers.layer).pipe(Layer.provide(BrokenOutbox), Layer.provideMerge(Test)))(
  "Customers without an outbox",
  (it) => {
    it.effect("rolls back a change when its event cannot be written", () =>
      Effect.gen(function* () {
        const customers = yield* Customers
        const sql = yield* SqlClient.SqlClient
        const org = yield* organization()
        expect(Exit.isFailure(yield* Effect.exit(customers.create(org, anna())))).toBe(true)
        const rows = yield* sql`select 1 from booking_customers where org_id = ${org.id}`
        expect(rows.length).toBe(0)
      })
    )
  }
)
