import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { made, organization, request, withoutRequestId, workspaceServer } from "../../servers/WorkspaceServer.ts"

/** The recycle bin, bulk deletion and erasure of booking customers. */

const unknown = `bcus_${"0".repeat(24)}`
const malformed = [
  "x",
  "1",
  "0",
  "bcus_",
  `${unknown}0`,
  unknown.toUpperCase(),
  `agent_${"0".repeat(24)}`,

  "%F0%9F%98%80"
]

const Removed = Schema.Struct({ id: Schema.String, deleted_at: Schema.String })
const removed = Schema.decodeUnknownSync(Removed, { onExcessProperty: "error" })
const Bulk = Schema.Struct({ deleted: Schema.Array(Schema.String), not_found: Schema.Array(Schema.String) })
const bulk = Schema.decodeUnknownSync(Bulk, { onExcessProperty: "error" })

const bulkDelete = (key: string, ids: unknown) => request("POST", "/bulk-delete", { key, body: { ids } })

/** As if it had gone to the recycle bin so long ago. */
const ageBin = (id: string, age: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update booking_customers set deleted_at = now() - ${age}::interval where public_id = ${id}`
  )

layer(workspaceServer(), { excludeTestServices: true })("deleting booking customers", (it) => {
  it.effect("a deleted customer is not listed but keeps its personal data, until it is restored", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const before = yield* made(key, {
        phone: "0612345678",
        notes: "N",
        birthdate: "1987-04-30",
        marketing_opt_in: true
      })
      const path = `/${before.id}`
      const answer = yield* request("DELETE", path, { key })
      const { deleted_at, id } = removed(answer.body.data)
      expect([answer.status, id]).toEqual([200, before.id])
      expect((yield* request("GET", path, { key })).code).toBe("RESOURCE_NOT_FOUND")
      expect((yield* request("GET", `${path}?deleted=exclude`, { key })).code).toBe("RESOURCE_NOT_FOUND")
      const binned = (yield* request("GET", `${path}?deleted=include`, { key })).customer
      expect(binned).toEqual({ ...before, deleted_at, updated_at: binned.updated_at })
      expect((yield* request("PATCH", path, { key, body: { name: "Bo" } })).code).toBe("RESOURCE_NOT_FOUND")
      expect((yield* request("DELETE", path, { key })).code).toBe("RESOURCE_NOT_FOUND")
      const restored = yield* request("POST", `${path}/restore`, { key })
      expect([restored.status, restored.customer]).toEqual([
        200,
        { ...before, updated_at: restored.customer.updated_at }
      ])
      expect((yield* request("GET", path, { key })).customer).toEqual(restored.customer)
      expect((yield* request("GET", `${path}?deleted=yes`, { key })).fields).toEqual(["deleted"])
    })
  )

  it.effect("a customer that is not in the recycle bin cannot be restored", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      expect((yield* request("POST", `/${id}/restore`, { key })).code).toBe("INVALID_STATE")
    })
  )

  it.effect("a customer can be restored for 30 days; then it is not found, purged or not", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      yield* request("DELETE", `/${id}`, { key })
      yield* ageBin(id, "29 days 23 hours")
      expect((yield* request("POST", `/${id}/restore`, { key })).status).toBe(200)
      yield* request("DELETE", `/${id}`, { key })
      yield* ageBin(id, "30 days 1 minute")
      expect((yield* request("POST", `/${id}/restore`, { key })).code).toBe("RESOURCE_NOT_FOUND")
      expect((yield* request("POST", `/${id}/anonymize`, { key })).code).toBe("RESOURCE_NOT_FOUND")
      for (const deleted of ["include", "only"]) {
        expect((yield* request("GET", `/${id}?deleted=${deleted}`, { key })).code).toBe("RESOURCE_NOT_FOUND")
        expect((yield* request("GET", `?deleted=${deleted}`, { key })).customers).toEqual([])
      }
    })
  )

  it.effect("one of many concurrent deletions succeeds, and one of many restorations", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const all = (method: string, path: string) =>
        Effect.map(
          Effect.all(
            Array.from({ length: 20 }, () => request(method, path, { key })),
            { concurrency: "unbounded" }
          ),
          (answers) => answers.map(({ status }) => status).sort()
        )
      expect(yield* all("DELETE", `/${id}`)).toEqual([200, ...Array.from({ length: 19 }, () => 404)])
      expect(yield* all("POST", `/${id}/restore`)).toEqual([200, ...Array.from({ length: 19 }, () => 422)])
    })
  )

  it.effect("a deletion is not lost when the customer is changed concurrently", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      for (let round = 0; round < 15; round++) {
        const { id } = yield* made(key)
        const patches = Array.from({ length: 3 }, (_, i) =>
          request("PATCH", `/${id}`, { key, body: { notes: `n${i}` } })
        )
        const [answer] = yield* Effect.all([bulkDelete(key, [id]), ...patches], { concurrency: "unbounded" })
        expect(answer.body.data).toEqual({ deleted: [id], not_found: [] })
        expect((yield* request("GET", `/${id}`, { key })).status).toBe(404)
      }
    })
  )

  it.effect("bulk deletion deletes each existing customer once, and returns the ids that were not found", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const other = yield* organization()
      const foreign = yield* made(other.key)
      const [a, b, gone] = yield* Effect.all([made(key), made(key), made(key)])
      yield* request("DELETE", `/${gone.id}`, { key })
      const ids = [b.id, unknown, a.id, b.id, foreign.id, gone.id, unknown, "nonsense", ""]
      const answer = yield* bulkDelete(key, ids)
      expect(answer.status).toBe(200)
      const { deleted, not_found } = bulk(answer.body.data)
      expect([...deleted].sort()).toEqual([a.id, b.id].sort())
      expect([...not_found].sort()).toEqual([unknown, foreign.id, gone.id, "nonsense", ""].sort())
      expect((yield* request("GET", "", { key })).customers).toEqual([])
      expect((yield* request("GET", `/${foreign.id}`, { key: other.key })).status).toBe(200)
    })
  )

  it.effect("bulk deletion takes 1 to 100 ids, which are strings", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const hundred = yield* Effect.forEach(Array.from({ length: 100 }), () => made(key))
      const ids = hundred.map(({ id }) => id)
      const invalid = [[], [...ids, unknown], undefined, null, ids[0], {}, [1], [null], [[ids[0]]]]
      for (const value of invalid) {
        const answer = yield* bulkDelete(key, value)
        expect([JSON.stringify(value)?.slice(0, 40), answer.code]).toEqual([
          JSON.stringify(value)?.slice(0, 40),
          "VALIDATION_ERROR"
        ])
        for (const field of answer.fields) expect(field).toMatch(/^ids/)
        expect(answer.fields.length).toBeGreaterThan(0)
      }
      const answer = yield* bulkDelete(key, ids)
      expect(bulk(answer.body.data)).toEqual({ deleted: ids, not_found: [] })
    })
  )

  it.effect("half a million problems in one body are reported as one", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const body = `{"ids":[${"1,".repeat(500_000)}1]}`
      const answer = yield* request("POST", "/bulk-delete", { key, body })
      expect(answer.code).toBe("VALIDATION_ERROR")
      expect(answer.text.length).toBeLessThan(100_000)
    })
  )

  it.effect("an id with a NUL character is not found, at every endpoint", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const statuses: Record<string, number> = {}
      const ask = (method: string, path: string, body?: unknown) =>
        Effect.map(request(method, path, { key, body }), ({ status }) => {
          statuses[`${method} ${path}`] = status
        })
      yield* ask("GET", "/%00")
      yield* ask("PATCH", "/%00", { name: "Eve" })
      yield* ask("POST", "/%00/restore")
      yield* ask("POST", "/%00/anonymize")
      yield* ask("DELETE", "/%00")
      yield* ask("POST", "/bulk-delete", { ids: ["a\u0000b"] })
      expect(statuses).toEqual({
        "GET /%00": 404,
        "PATCH /%00": 404,
        "POST /%00/restore": 404,
        "POST /%00/anonymize": 404,
        "DELETE /%00": 404,
        "POST /bulk-delete": 200
      })
    })
  )

  it.effect("an id with a lone surrogate is not found, also when the request is repeated", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const body = { ids: ["\ud800"] }
      const answer = yield* request("POST", "/bulk-delete", { key, body, once: "odd" })
      expect(bulk(answer.body.data).deleted).toEqual([])
      const again = yield* request("POST", "/bulk-delete", { key, body, once: "odd" })
      expect(again.headers["idempotency-replayed"]).toBe("true")
    })
  )

  it.effect("concurrent overlapping bulk deletions complete, and each customer is deleted by one of them", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const ids = (yield* Effect.forEach(Array.from({ length: 40 }), () => made(key))).map(({ id }) => id)
      const orders = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? ids : ids.toReversed()))
      const answers = yield* Effect.forEach(orders, (order) => bulkDelete(key, order), { concurrency: "unbounded" })
      const deleted = answers.flatMap((answer) => bulk(answer.body.data).deleted)
      expect([...deleted].sort()).toEqual([...ids].sort())
    })
  )

  it.effect("anonymizing erases all personal data, whether or not the customer is deleted", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const personal = {
        name: "Qwertina Uiop",
        email: "qwertina@uiop.example",
        phone: "0687651234",
        address: "Secret Lane 5",
        postcode: "9999 ZZ",
        city: "Secretville",
        birthdate: "1966-06-06",
        marketing_opt_in: true,
        notes: "Qwertina is allergic"
      }
      const secrets = /qwert|uiop|687651234|secret|9999 ZZ|1966-06-06|allergic/i
      for (const isDeleted of [false, true]) {
        const { id } = yield* made(key, personal)
        if (isDeleted) yield* request("DELETE", `/${id}`, { key })
        const answer = yield* request("POST", `/${id}/anonymize`, { key })
        expect(answer.status).toBe(200)
        expect(answer.text).not.toMatch(secrets)
        expect(answer.customer).toMatchObject({
          id,
          is_anonymized: true,
          email: null,
          phone: null,
          marketing_opt_in: false
        })
        expect(answer.customer.deleted_at === null).toBe(!isDeleted)
        const got = yield* request("GET", `/${id}?deleted=include`, { key })
        expect(got.customer).toEqual(answer.customer)
        for (const query of ["q=qwert", "q=uiop", "email=qwertina@uiop.example", "phone=0687651234"]) {
          expect((yield* request("GET", `?deleted=include&${query}`, { key })).customers).toEqual([])
        }
        const restored = yield* request("POST", `/${id}/restore`, { key })
        expect(restored.code).toBe("INVALID_STATE")
        expect(restored.body.error?.message).toMatch(/GDPR-anonymized customer cannot be restored/i)
        const again = yield* request("POST", `/${id}/anonymize`, { key })
        expect([again.status, again.customer]).toEqual([200, answer.customer])
      }
      const sql = yield* SqlClient.SqlClient
      for (const table of ["booking_customers", "events", "idempotency_keys"]) {
        const rows = yield* sql<{ readonly row: string }>`select t::text as row from ${sql(table)} t`
        expect([table, rows.filter(({ row }) => secrets.test(row))]).toEqual([table, []])
      }
    })
  )

  it.effect("anonymizing also erases the responses kept for Idempotency-Keys", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const body = { name: "Qwertina", email: "q@example.com" }
      const first = yield* request("POST", "", { key, body, once: "create" })
      const { id } = first.customer
      yield* request("PATCH", `/${id}`, { key, body: { notes: "Qwertina" }, once: "patch" })
      yield* request("POST", `/${id}/anonymize`, { key, once: "erase" })
      const replays = [
        yield* request("POST", "", { key, body, once: "create" }),
        yield* request("PATCH", `/${id}`, { key, body: { notes: "Qwertina" }, once: "patch" }),
        yield* request("POST", `/${id}/anonymize`, { key, once: "erase" })
      ]
      for (const replay of replays) {
        expect(replay.headers["idempotency-replayed"]).toBe("true")
        expect(replay.text).not.toMatch(/qwertina|q@example/i)
        expect(replay.customer.id).toBe(id)
      }
      expect((yield* request("POST", "", { key, body: { ...body, name: "X" }, once: "create" })).code).toBe(
        "IDEMPOTENCY_KEY_CONFLICT"
      )
    })
  )

  it.effect("an anonymized customer takes no new personal data, and can be deleted", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      yield* request("POST", `/${id}/anonymize`, { key })
      expect((yield* request("PATCH", `/${id}`, { key, body: { name: "Anna" } })).code).toBe("INVALID_STATE")
      expect((yield* request("DELETE", `/${id}`, { key })).status).toBe(200)
      expect((yield* request("POST", `/${id}/restore`, { key })).code).toBe("INVALID_STATE")
    })
  )

  it.effect("unknown, foreign and malformed ids get the same 404 at every endpoint that takes one", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const other = yield* organization()
      const foreign = yield* made(other.key)
      const binned = yield* made(other.key)
      yield* request("DELETE", `/${binned.id}`, { key: other.key })
      const endpoints = [
        ["GET", ""],
        ["GET", "?deleted=include"],
        ["PATCH", "", { name: "Eve" }],
        ["PATCH", "", { email: null, phone: null }],
        ["DELETE", ""],
        ["POST", "/restore"],
        ["POST", "/anonymize"]
      ] as const
      for (const [method, rest, body] of endpoints) {
        const expected = withoutRequestId(yield* request(method, `/${unknown}${rest}`, { key, body }))
        expect(expected.error?.code).toBe("RESOURCE_NOT_FOUND")
        for (const id of [foreign.id, binned.id, ...malformed]) {
          const answer = yield* request(method, `/${id}${rest}`, { key, body })
          expect([method, rest, id, withoutRequestId(answer)]).toEqual([method, rest, id, expected])
        }
      }
      expect((yield* request("GET", `/${foreign.id}`, { key: other.key })).customer).toEqual(foreign)
    })
  )
})
