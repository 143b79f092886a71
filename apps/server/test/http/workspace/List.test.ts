import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpServer } from "../../../src/http/listening/HttpServer.ts"
import { made, organization, request, workspaceServer } from "../../servers/WorkspaceServer.ts"
import type { Customer } from "../../servers/WorkspaceWire.ts"

/** The list of booking customers and search in it. */

const list = (key: string, query: { readonly [name: string]: string | number } = {}) => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  return request("GET", `?${search}`, { key })
}

const names = (customers: ReadonlyArray<Customer>) => customers.map(({ name }) => name)

/** The customers that a query finds, sorted by name. */
const found = (key: string, query: { readonly [name: string]: string | number }) =>
  Effect.map(list(key, query), (answer) => {
    expect([query, answer.status]).toEqual([query, 200])
    return names(answer.customers).sort()
  })

/** All pages from the first to the last; `between` runs after each. */
const pages = (
  key: string,
  query: { readonly [name: string]: string | number },
  between: Effect.Effect<unknown, Error, HttpServer>
) =>
  Effect.gen(function* () {
    const seen: Array<Customer> = []
    let after: string | null | undefined
    do {
      const answer = yield* list(key, { ...query, ...(after ? { after } : {}) })
      expect(answer.status).toBe(200)
      seen.push(...answer.customers)
      after = answer.body.meta.next_cursor
      expect(after).not.toBeUndefined()
      if (after !== null) expect(after).toBe(answer.customers.at(-1)?.id)
      yield* between
    } while (after)
    return seen
  })

layer(workspaceServer(), { excludeTestServices: true })("the list of booking customers", (it) => {
  it.effect("is one empty page when there are no customers", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const answer = yield* list(key)
      expect(answer.body.data).toEqual([])
      expect(answer.body.meta.next_cursor).toBeNull()
    })
  )

  it.effect("pages are newest first, with 50 customers by default and limit up to 100", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const all = yield* Effect.forEach(Array.from({ length: 105 }), (_, i) => made(key, { name: `N${i}` }))
      const newestFirst = names(all).reverse()
      const first = yield* list(key)
      expect(names(first.customers)).toEqual(newestFirst.slice(0, 50))
      expect(first.customers[0]).toEqual(all[104])
      expect(names((yield* list(key, { limit: 100 })).customers)).toEqual(newestFirst.slice(0, 100))
      for (const limit of [1, 7, 40, 60, 100]) {
        expect(names(yield* pages(key, { limit }, Effect.void))).toEqual(newestFirst)
      }
    })
  )

  it.effect("paging returns each customer once, whatever is added, changed or deleted meanwhile", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const before = yield* Effect.forEach(Array.from({ length: 30 }), (_, i) => made(key, { name: `N${i}` }))
      const stir = Effect.all(
        [
          made(key, { name: "Late" }),
          made(key, { name: "Late" }),
          request("PATCH", `/${before[0]?.id}`, { key, body: { notes: crypto.randomUUID() } })
        ],
        { concurrency: "unbounded" }
      )
      const seen = yield* pages(key, { limit: 4 }, stir)
      expect(names(seen)).toEqual(names(before).reverse())
    })
  )

  it.effect("a cursor stays valid when its customer is deleted", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const all = yield* Effect.forEach(["A", "B", "C"], (name) => made(key, { name }))
      const first = yield* list(key, { limit: 1 })
      const cursor = String(first.body.meta.next_cursor)
      expect(cursor).toBe(all[2]?.id)
      expect((yield* request("DELETE", `/${cursor}`, { key })).status).toBe(200)
      expect(names((yield* list(key, { after: cursor })).customers)).toEqual(["B", "A"])
    })
  )

  it.effect("an invalid query parameter is refused by its name", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const cases = [
        ...["0", "101", "-1", "x", "", "1.5", "1e1", "0x10", " 5", "999999999999999999999"].map((limit) => [
          "limit",
          limit
        ]),
        ...["yes", "", "true", "ONLY"].map((deleted) => ["deleted", deleted]),
        ["q", "\u0000"],
        ["email", "\u0000"],
        ["phone", "\u0000"]
      ] as const
      for (const [name = "", value = ""] of cases) {
        const answer = yield* list(key, { [name]: value })
        expect([name, value, answer.code, answer.fields]).toEqual([name, value, "VALIDATION_ERROR", [name]])
      }
      const several = yield* list(key, { limit: 0, deleted: "x" })
      expect([...several.fields].sort()).toEqual(["deleted", "limit"])
      expect((yield* request("GET", "?limit=1&limit=2", { key })).code).toBe("VALIDATION_ERROR")
      expect((yield* list(key, { limit: 1, colour: "red" })).status).toBe(200)
    })
  )

  it.effect("an unknown, foreign or malformed cursor is the same validation error of `after`", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const other = yield* organization()
      const foreign = yield* made(other.key)
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{
        readonly id: number
      }>`select id from booking_customers where public_id = ${foreign.id}`
      const faults = new Set<string>()
      const cursors = [
        `bcus_${"0".repeat(24)}`,
        foreign.id,
        String(row?.id),
        foreign.id.toUpperCase(),
        "bcus_",
        "nonsense",
        "-1",
        "0",
        "999999999999999",
        "99999999999999999999999",
        "1e3",
        "\u0000",
        "a\u0000"
      ]
      for (const after of cursors) {
        const answer = yield* list(key, { after })
        expect([after, answer.code, answer.fields]).toEqual([after, "VALIDATION_ERROR", ["after"]])
        faults.add(JSON.stringify(answer.body.error))
      }
      expect(faults.size).toBe(1)
      expect((yield* list(other.key, { after: foreign.id })).customers).toEqual([])
      expect((yield* list(other.key, { after: String(row?.id) })).customers).toEqual([])
    })
  )

  it.effect("`q` finds a part of the name, email or phone number, case-insensitively and without wildcards", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const anna = { name: "Anna", email: "vries@Example.com", phone: "0612345678" }
      const rene = { name: "Ren\u00e9e M\u00fcller", email: "50%_off@shop.nl", address: "Hidden 7" }
      const li = { name: "Back\\slash", email: null, phone: "+49 30 901820", notes: "Anna's friend" }
      for (const fields of [anna, rene, li]) yield* made(key, fields)
      const cases: ReadonlyArray<readonly [q: string, ...found: ReadonlyArray<string>]> = [
        ["anna", "Anna"],
        ["ANN", "Anna"],
        ["nn", "Anna"],
        ["VRIES@example", "Anna"],
        ["612345678", "Anna"],
        ["+31612", "Anna"],
        ["REN\u00c9E", "Ren\u00e9e M\u00fcller"],
        ["m\u00fcller", "Ren\u00e9e M\u00fcller"],
        ["e m", "Ren\u00e9e M\u00fcller"],
        ["%", "Ren\u00e9e M\u00fcller"],
        ["50%_", "Ren\u00e9e M\u00fcller"],
        ["_", "Ren\u00e9e M\u00fcller"],
        ["\\", "Back\\slash"],
        ["k\\s", "Back\\slash"],
        ["4930", "Back\\slash"],
        ["hidden"],
        ["friend"],
        ["bcus"],
        ["a%a"],
        ["' or 1=1 --"]
      ]
      for (const [q, ...expected] of cases) expect([q, yield* found(key, { q })]).toEqual([q, expected])
      expect(yield* found(key, { q: "" })).toHaveLength(3)
      expect(yield* found(key, { q: "  " })).toHaveLength(3)
    })
  )

  it.effect("`q` of zeros alone finds numbers with these zeros, not every phone number", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      yield* made(key, { name: "None", phone: "0612345678" })
      yield* made(key, { name: "Zeros", email: "a0000@example.com" })
      expect(yield* found(key, { q: "0000" })).toEqual(["Zeros"])
    })
  )

  it.effect("`q` with a space before a digit is a part of a name like any other", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      yield* made(key, { name: "Studio 54" })
      expect(yield* found(key, { q: "o 5" })).toEqual(["Studio 54"])
      expect(yield* found(key, { q: " 54" })).toEqual(["Studio 54"])
    })
  )

  it.effect("`email` and `phone` match exactly, in any case and any format of the number", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      yield* made(key, { name: "A", email: "Anna@Example.com", phone: "0612345678" })
      yield* made(key, { name: "B", email: "anna@example.com", phone: "0687654321" })
      yield* made(key, { name: "C", email: "joanna@example.com" })
      expect(yield* found(key, { email: "anna@example.com" })).toEqual(["A", "B"])
      expect(yield* found(key, { email: "anna@example" })).toEqual([])
      expect(yield* found(key, { email: "%" })).toEqual([])
      for (const phone of ["+31612345678", "06 12345678", "0031612345678"]) {
        expect([phone, yield* found(key, { phone })]).toEqual([phone, ["A"]])
      }
      expect(yield* found(key, { phone: "0612" })).toEqual([])
      expect(yield* found(key, { email: "anna@example.com", phone: "0687654321" })).toEqual(["B"])
      expect(yield* found(key, { email: "anna@example.com", q: "b" })).toEqual(["B"])
      expect(yield* found(key, { email: "joanna@example.com", phone: "0687654321" })).toEqual([])
    })
  )

  it.effect("`deleted` excludes the recycle bin, includes it, or selects only it, also in searches", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      yield* made(key, { name: "Here" })
      const gone = yield* made(key, { name: "Gone" })
      yield* request("DELETE", `/${gone.id}`, { key })
      for (const more of [{}, { q: "e" }, { q: "example" }, { email: "anna@example.com" }]) {
        expect(yield* found(key, more)).toEqual(["Here"])
        expect(yield* found(key, { deleted: "exclude", ...more })).toEqual(["Here"])
        expect(yield* found(key, { deleted: "only", ...more })).toEqual(["Gone"])
        expect(yield* found(key, { deleted: "include", ...more })).toEqual(["Gone", "Here"])
      }
      const [only] = (yield* list(key, { deleted: "only" })).customers
      expect(only).toMatchObject({ id: gone.id, email: "anna@example.com", deleted_at: expect.any(String) })
    })
  )

  it.effect("searches have pages", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      for (let i = 0; i < 12; i++) yield* made(key, { name: i % 2 === 0 ? `Even ${i}` : `Odd ${i}` })
      const expected = [10, 8, 6, 4, 2, 0].map((i) => `Even ${i}`)
      for (const q of ["even", "ev", "v"]) {
        const seen = yield* pages(key, { q, limit: 4 }, Effect.void)
        expect([q, names(seen)]).toEqual([q, expected])
      }
      expect(names(yield* pages(key, { email: "ANNA@example.com", limit: 5 }, Effect.void))).toHaveLength(12)
    })
  )

  it.effect("never contains another organization's customers", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const other = yield* organization()
      const own = yield* made(key, { name: "Ours", phone: "0612345678" })
      const theirs = yield* made(other.key, { name: "Theirs", phone: "0612345678" })
      const binned = yield* made(other.key, { name: "Binned", phone: "0612345678" })
      yield* request("DELETE", `/${binned.id}`, { key: other.key })
      const queries = [
        {},
        { q: "s" },
        { q: "rs" },
        { q: "612" },
        { email: "anna@example.com" },
        { phone: "0612345678" }
      ]
      for (const query of queries) {
        const answer = yield* list(key, { deleted: "include", ...query })
        for (const customer of answer.customers) expect(customer).toEqual(own)
      }
      expect(yield* found(key, { q: "theirs", deleted: "include" })).toEqual([])
      expect(yield* found(key, { after: own.id })).toEqual([])
      expect(yield* found(other.key, { deleted: "include" })).toEqual(["Binned", "Theirs"])
      expect(theirs.id).not.toBe(own.id)
    })
  )
})
