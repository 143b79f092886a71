import { expect, layer } from "@effect/vitest"
import type { BookingCustomersQuery } from "@svc/api/bookings/BookingCustomersApi"
import { planFiguresOf } from "@svc/database/TestPlans"
import { Effect } from "effect"
import { CustomerList } from "../src/CustomerList.ts"
import { Customers } from "../src/Customers.ts"
import { seedCustomers } from "../src/testing/SeedCustomers.ts"
import { anna, organization, Test } from "./Account.ts"

type Org = Effect.Effect.Success<ReturnType<typeof organization>>

const page = (org: Org, query: Partial<BookingCustomersQuery> = {}) =>
  Effect.flatMap(CustomerList, (list) => list.page(org, { limit: 50, deleted: "exclude", ...query }))

const names = (org: Org, query: Partial<BookingCustomersQuery>) =>
  Effect.map(page(org, query), ({ customers }) => customers.map(({ name }) => name))

layer(Test, { timeout: "120 seconds" })("CustomerList", (it) => {
  it.effect("pages are newest first, without gaps or repeats while customers are created and deleted", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const add = (n: number) => Effect.map(customers.create(org, anna({ name: `c${n}` })), ({ id }) => id)
      const ids = yield* Effect.forEach(
        Array.from({ length: 25 }, (_, n) => n),
        add
      )
      const seen: Array<string> = []
      let after: string | undefined
      for (;;) {
        const { customers: some, next_cursor } = yield* page(org, { limit: 10, ...(after && { after }) })
        seen.push(...some.map(({ id }) => id))
        if (next_cursor === null) break
        expect(next_cursor).toBe(some.at(-1)?.id)
        // The customer of the cursor is deleted, and a new one is created.
        yield* customers.remove(org, next_cursor)
        yield* add(100)
        after = next_cursor
      }
      expect(seen).toEqual([...ids].reverse())
    })
  )

  it.effect("next_cursor is null on a full page without a next one", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      yield* Effect.replicateEffect(customers.create(org, anna()), 3)
      expect((yield* page(org, { limit: 3 })).next_cursor).toBe(null)
      expect((yield* page(org, { limit: 2 })).next_cursor).not.toBe(null)
    })
  )

  it.effect("an unknown cursor or one of another organization is refused", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const foreign = yield* customers.create(yield* organization(), anna())
      for (const after of [foreign.id, `bcus_${"0".repeat(24)}`, "999999999", "0", "-1", "x", ""]) {
        const error = yield* Effect.flip(page(org, { after }))
        expect([error._tag, error.details]).toEqual([
          "ValidationError",
          { after: "after must be the id of a booking customer" }
        ])
      }
    })
  )

  it.effect("q finds parts of name, email and phone, ignoring case and diacritics, only in its organization", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const other = yield* organization()
      yield* customers.create(other, anna({ name: "Zoë Ünal", email: "zoe@example.com", phone: "06 12345678" }))
      yield* customers.create(org, anna({ name: "Zoë Ünal", email: "Z.Unal+work@Example.com", phone: "06 12345678" }))
      yield* customers.create(org, anna({ name: "100% Bob_by \\ Ltd", email: null, phone: "+44 20 7946 0958" }))
      yield* customers.create(org, anna({ name: "李小龙", email: "lee@example.cn" }))

      const zoe = ["Zoë Ünal"]
      const bob = ["100% Bob_by \\ Ltd"]
      const cases: ReadonlyArray<readonly [q: string, found: ReadonlyArray<string>]> = [
        ["zoë", zoe],
        ["ZOE", zoe],
        ["ünal", zoe],
        ["unal", zoe],
        ["ë ü", zoe],
        ["z.unal+work@", zoe],
        ["612345", zoe],
        ["06 1234 5678", zoe],
        ["0612345678", zoe],
        ["+31 6 12", zoe],
        [" 31612345", zoe],
        ["0031612345678", zoe],
        ["020 7946", bob],
        ["%", bob],
        ["_", bob],
        ["\\", bob],
        ["0% b", bob],
        ["b_b", bob],
        ["o_", []],
        ["x", ["李小龙", ...zoe]],
        ["小", ["李小龙"]],
        ["李小龙", ["李小龙"]],
        ["lee", ["李小龙"]],
        ["0000", []],
        ["54", []],
        ["nobody", []],
        ["", ["李小龙", ...bob, ...zoe]],
        ["  ", ["李小龙", ...bob, ...zoe]]
      ]
      for (const [q, found] of cases) expect([q, yield* names(org, { q })]).toEqual([q, found])
    })
  )

  it.effect("email and phone match whole values, and all conditions must hold", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      yield* customers.create(org, anna({ name: "A", email: "One@Example.com", phone: "06 12345678" }))
      yield* customers.create(org, anna({ name: "B", email: "one@example.com.au", phone: "06 12345679" }))
      const { id } = yield* customers.create(org, anna({ name: "C", email: "one@example.com", phone: "+31612345678" }))
      yield* customers.remove(org, id)
      expect(yield* names(org, { email: " ONE@example.com" })).toEqual(["A"])
      expect(yield* names(org, { email: "example.com" })).toEqual([])
      for (const phone of ["0612345678", "+31 6 12345678", " 31612345678"]) {
        expect(yield* names(org, { phone })).toEqual(["A"])
      }
      expect(yield* names(org, { phone: "not a number" })).toEqual([])
      expect(yield* names(org, { phone: "0612345678", deleted: "include" })).toEqual(["C", "A"])
      expect(yield* names(org, { email: "one@example.com", deleted: "only" })).toEqual(["C"])
      expect(yield* names(org, { q: "one", phone: "0612345679" })).toEqual(["B"])
      expect(yield* names(org, { q: "one", deleted: "only" })).toEqual(["C"])
    })
  )

  it.effect("finds the same customers by scan and by index", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const org = yield* organization()
      const oldest = yield* customers.create(org, anna({ name: "Xq the first", email: "qqq@example.org" }))
      yield* seedCustomers(org.id, 6000)
      for (const q of ["xq", "xq the", "qqq", "qqq@example.org", "first"]) {
        expect([q, yield* names(org, { q })]).toEqual([q, [oldest.name]])
      }
      const some = yield* page(org, { q: "fatima", limit: 100 })
      expect(some.customers.length).toBe(100)
      expect(some.customers.every(({ name }) => name.startsWith("Fatima"))).toBe(true)
      const next = yield* page(org, { q: "fatima", limit: 100, after: some.next_cursor ?? "" })
      const seen = new Set(some.customers.map(({ id }) => id))
      expect(next.customers.some(({ id }) => seen.has(id))).toBe(false)
    })
  )

  it.effect("pages and searches use indexes and read few rows more than they return", () =>
    Effect.gen(function* () {
      const list = yield* CustomerList
      const customers = yield* Customers
      const org = yield* organization()
      const other = yield* organization()
      yield* customers.create(org, anna({ name: "Xqz", email: "wyx@example.org" }))
      yield* seedCustomers(org.id, 40_000)
      yield* seedCustomers(other.id, 5000)
      const read = (query: Partial<BookingCustomersQuery>) =>
        planFiguresOf(list.page(org, { limit: 50, deleted: "exclude", ...query }), ["booking_customers"])

      const cases: ReadonlyArray<readonly [Partial<BookingCustomersQuery>, rows: number, index: RegExp]> = [
        [{}, 60, /_(?:live|pkey)$/],
        [{ deleted: "only" }, 60, /_bin$/],
        [{ email: "anna.jansen7@example.com" }, 10, /_email$/],
        [{ phone: "0600048271" }, 10, /_phone$/],
        [{ q: "a" }, 4000, /_(?:live|pkey)$/],
        [{ q: "jansen" }, 7000, /_(?:live|pkey)$/],
        [{ q: "xqz" }, 7000, /_search$/],
        [{ q: "wyx@example.org" }, 7000, /_search$/],
        [{ q: "xq" }, 7000, /_search_codes$/]
      ]
      for (const [query, rows, index] of cases) {
        const reading = yield* read(query)
        const what = JSON.stringify({ query, ...reading, indexes: [...reading.indexes] })
        expect(reading.sequentialScans, what).toEqual([])
        expect(reading.rows, what).toBeLessThan(rows)
        expect(
          [...reading.indexes].some((name) => index.test(name)),
          what
        ).toBe(true)
      }
    })
  )
})
