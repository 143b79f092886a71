import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { made, organization, request, workspaceServer } from "../../servers/WorkspaceServer.ts"

/** Events of booking customers: written with the change, exactly one for each. */

interface EventRow {
  readonly id: string
  readonly event: string
  readonly api_version: string
  readonly org_id: number
  readonly project_id: number | null
  readonly agent_id: string | null
  readonly call_id: string | null
  readonly data: unknown
  readonly created_at: Date
}

/** The events of an organization that came since the last time it was asked. */
const feed = (orgId: number) => {
  let seen = 0
  return Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<EventRow>`select * from events where org_id = ${orgId} order by seq`, (rows) => {
      const fresh = rows.slice(seen)
      seen = rows.length
      return fresh
    })
  )
}

const names = (events: ReadonlyArray<EventRow>) => events.map(({ event }) => event)
const dataOf = (events: ReadonlyArray<EventRow>) => events.map(({ data }) => data)

layer(
  workspaceServer({ settings: { SVC_LIMIT_BOOKING_CUSTOMERS_PAYG: "2", SVC_LIMIT_IDEMPOTENCY_KEYS_PER_DAY: "4" } }),
  {
    excludeTestServices: true
  }
)("events of booking customers", (it) => {
  it.effect("each change writes one event with the customer as the response has it", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const news = feed(org.id)
      const customer = yield* made(key)
      const path = `/${customer.id}`
      const [created, ...more] = yield* news
      expect(more).toEqual([])
      expect(created).toMatchObject({
        id: expect.stringMatching(/^whe_[0-9a-z]{24}$/),
        event: "booking_customer.created",
        api_version: "2026-11-01",
        org_id: org.id,
        project_id: null,
        agent_id: null,
        call_id: null,
        data: { customer_id: customer.id, customer }
      })
      expect(created?.created_at).toBeInstanceOf(Date)
      expect(Object.keys(created?.data ?? {}).sort()).toEqual(["customer", "customer_id"])

      const changed = yield* request("PATCH", path, { key, body: { name: "Bo" } })
      const updates = yield* news
      expect(names(updates)).toEqual(["booking_customer.updated"])
      expect(dataOf(updates)).toEqual([{ customer_id: customer.id, customer: changed.customer }])

      yield* request("DELETE", path, { key })
      const binned = (yield* request("GET", `${path}?deleted=only`, { key })).customer
      const deletions = yield* news
      expect(names(deletions)).toEqual(["booking_customer.deleted"])
      expect(dataOf(deletions)).toEqual([{ customer_id: customer.id, customer: binned }])

      const restored = yield* request("POST", `${path}/restore`, { key })
      const restorations = yield* news
      expect(names(restorations)).toEqual(["booking_customer.restored"])
      expect(dataOf(restorations)).toEqual([{ customer_id: customer.id, customer: restored.customer }])
    })
  )

  it.effect("bulk deletion writes one event for each customer that it deleted, and none for the others", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const news = feed(org.id)
      const all = yield* Effect.all([made(key), made(key), made(key)])
      yield* news
      const ids = all.map(({ id }) => id)
      const unknown = `bcus_${"0".repeat(24)}`
      yield* request("POST", "/bulk-delete", { key, body: { ids: [...ids, unknown, ids[0]] } })
      const events = yield* news
      expect(names(events)).toEqual(ids.map(() => "booking_customer.deleted"))
      for (const id of ids) {
        const customer = expect.objectContaining({ id, deleted_at: expect.any(String) })
        expect(dataOf(events)).toContainEqual({ customer_id: id, customer })
      }
      yield* request("POST", "/bulk-delete", { key, body: { ids } })
      expect(yield* news).toEqual([])
    })
  )

  it.effect("anonymizing writes one event without personal data, and removes that data from earlier events", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const news = feed(org.id)
      const other = yield* made(key, { name: "Other" })
      const { id } = yield* made(key, { name: "Qwertina", notes: "Qwertina" })
      yield* request("PATCH", `/${id}`, { key, body: { city: "Qwertville" } })
      yield* news
      const { customer } = yield* request("POST", `/${id}/anonymize`, { key })
      const events = yield* news
      expect(names(events)).toEqual(["booking_customer.updated"])
      expect(dataOf(events)).toEqual([{ customer_id: id, customer }])
      yield* request("POST", `/${id}/anonymize`, { key })
      expect(yield* news).toEqual([])
      const all = yield* feed(org.id)
      expect(JSON.stringify(all)).not.toMatch(/qwert/i)
      expect(dataOf(all)).toContainEqual({ customer_id: other.id, customer: other })
    })
  )

  it.effect("a change that fails or changes nothing writes no event", () =>
    Effect.gen(function* () {
      const { key, keyWith, org } = yield* organization("payg")
      const news = feed(org.id)
      const reader = yield* keyWith(["bookings.customers.read"])
      const { id, ...same } = yield* made(key)
      yield* made(key)
      const stranger = yield* organization()
      yield* news
      const failures = [
        ["POST", "", "PAYG_LIMIT", { name: "Bo", email: "bo@example.com" }],
        ["POST", "", "VALIDATION_ERROR", { name: "Bo" }],
        ["PATCH", `/${id}`, "VALIDATION_ERROR", { email: null }],
        ["PATCH", `/${id}`, "VALIDATION_ERROR", { name: "Bo", country: "XX" }],
        ["POST", `/${id}/restore`, "INVALID_STATE", undefined],
        ["DELETE", `/bcus_${"0".repeat(24)}`, "RESOURCE_NOT_FOUND", undefined]
      ] as const
      for (const [method, path, code, body] of failures) {
        expect((yield* request(method, path, { key, body })).code).toBe(code)
        expect((yield* request(method, path, { key: reader.key, body })).code).toBe("SCOPE_INSUFFICIENT")
      }
      for (const [method, path] of [
        ["DELETE", ""],
        ["POST", "/restore"],
        ["POST", "/anonymize"]
      ] as const) {
        expect((yield* request(method, `/${id}${path}`, { key: stranger.key })).status).toBe(404)
      }
      expect((yield* request("PATCH", `/${id}`, { key, body: {} })).status).toBe(200)
      const unchanged = yield* request("PATCH", `/${id}`, { key, body: same })
      expect(unchanged.customer).toEqual({ id, ...same })
      expect(yield* news).toEqual([])
    })
  )

  it.effect("a replayed response and a request over the quota write no event", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const news = feed(org.id)
      const body = { name: "Bo", email: "bo@example.com" }
      const { customer } = yield* request("POST", "", { key, body, once: "1" })
      const steps = [
        ["PATCH", `/${customer.id}`, { name: "Bob" }],
        ["DELETE", `/${customer.id}`],
        ["POST", `/${customer.id}/restore`]
      ] as const
      for (const [i, [method, path, change]] of steps.entries()) {
        yield* request(method, path, { key, body: change, once: `step ${i}` })
      }
      expect(names(yield* news)).toEqual(
        ["created", "updated", "deleted", "restored"].map((verb) => `booking_customer.${verb}`)
      )
      yield* request("POST", "", { key, body, once: "1" })
      for (const [i, [method, path, change]] of steps.entries()) {
        yield* request(method, path, { key, body: change, once: `step ${i}` })
      }
      expect((yield* request("POST", "", { key, body, once: "2" })).code).toBe("IDEMPOTENCY_KEY_QUOTA_EXCEEDED")
      expect(yield* news).toEqual([])
    })
  )

  it.effect("concurrent changes each write an event, in the order in which they took effect", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const news = feed(org.id)
      const { id } = yield* made(key)
      yield* news
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, (_, i) => request("PATCH", `/${id}`, { key, body: { notes: `n${i}` } })),
        { concurrency: "unbounded" }
      )
      const events = yield* news
      expect(events).toHaveLength(20)
      for (const { customer } of answers) expect(dataOf(events)).toContainEqual({ customer_id: id, customer })
      const { customer } = yield* request("GET", `/${id}`, { key })
      expect(dataOf(events).at(-1)).toEqual({ customer_id: id, customer })
    })
  )

  it.effect("the timestamps of concurrent changes are in the order of their events", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const news = feed(org.id)
      const { id } = yield* made(key)
      yield* news
      yield* Effect.all(
        Array.from({ length: 50 }, (_, i) => request("PATCH", `/${id}`, { key, body: { notes: `n${i}` } })),
        { concurrency: "unbounded" }
      )
      const times = (yield* news).map(({ created_at }) => created_at.toISOString())
      expect(times).toEqual([...times].sort())
      const { customer } = yield* request("GET", `/${id}`, { key })
      expect(customer.updated_at).toBe([...times].sort().at(-1))
    })
  )
})
