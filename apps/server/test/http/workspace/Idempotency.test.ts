import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Layer } from "effect"
import { made, organization, request, withoutRequestId, workspaceServer } from "../../servers/WorkspaceServer.ts"
import type { EnvelopeAnswer } from "../../servers/WorkspaceWire.ts"

/** One effect and one answer for each `Idempotency-Key`. */

const bo = { name: "Bo", email: "bo@example.com" }

const isReplay = ({ headers }: EnvelopeAnswer) => headers["idempotency-replayed"] === "true"

/** The text of a body but for the request's id. */
const textOf = ({ body, text }: EnvelopeAnswer) => text.replaceAll(body.meta.request_id, "")

const countOf = (key: string) =>
  Effect.map(request("GET", "?limit=100&deleted=include", { key }), ({ customers }) => customers.length)

/** As if everything that keys stand for had been answered so long ago. */
const age = (by: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update idempotency_keys set created_at = created_at - ${by}::interval`
  )

layer(workspaceServer(), { excludeTestServices: true })("Idempotency-Key", (it) => {
  it.effect("fifty concurrent requests with one key create one customer and get one response", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () => request("POST", "", { key, body: bo, once: "fifty" })),
        { concurrency: "unbounded" }
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
      expect(new Set(answers.map(textOf)).size).toBe(1)
      expect(new Set(answers.map(({ body }) => body.meta.request_id)).size).toBe(50)
      expect(answers.filter(isReplay)).toHaveLength(49)
      expect(answers.filter(({ headers }) => headers["idempotency-replayed"] === undefined)).toHaveLength(1)
      expect(yield* countOf(key)).toBe(1)
      const sql = yield* SqlClient.SqlClient
      const events = yield* sql`select 1 from events where data ->> 'customer_id' = ${answers[0]?.customer.id}`
      expect(events).toHaveLength(1)
    })
  )

  it.effect("of fifty concurrent different requests with one key, one takes effect and the others conflict", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, (_, i) =>
          request("POST", "", { key, body: { ...bo, name: `Bo ${i}` }, once: "mixed" })
        ),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(answers.filter(({ code }) => code === "IDEMPOTENCY_KEY_CONFLICT")).toHaveLength(49)
      expect(yield* countOf(key)).toBe(1)
    })
  )

  it.effect("the same request, in any JSON layout, gets the first response; a different one conflicts", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const first = yield* request("POST", "", { key, body: bo, once: "k" })
      expect([first.status, isReplay(first)]).toEqual([201, false])
      for (const body of [bo, JSON.stringify(bo, null, 2)]) {
        const again = yield* request("POST", "", { key, body, once: "k", headers: { "x-request-id": "mine" } })
        expect([isReplay(again), again.body.meta.request_id]).toEqual([true, "mine"])
        expect(withoutRequestId(again)).toEqual(withoutRequestId(first))
      }
      const others = [{ ...bo, name: "B" }, { ...bo, notes: null }, { name: "Bo" }, { ...bo, extra: 1 }, [], {}]
      for (const body of others) {
        expect([body, (yield* request("POST", "", { key, body, once: "k" })).code]).toEqual([
          body,
          "IDEMPOTENCY_KEY_CONFLICT"
        ])
      }
      const elsewhere = [
        request("POST", "/bulk-delete", { key, body: bo, once: "k" }),
        request("PATCH", `/${first.customer.id}`, { key, body: bo, once: "k" }),
        request("DELETE", `/${first.customer.id}`, { key, once: "k" }),
        request("POST", `/${first.customer.id}/restore`, { key, once: "k" })
      ]
      for (const answer of yield* Effect.all(elsewhere)) expect(answer.code).toBe("IDEMPOTENCY_KEY_CONFLICT")
      expect(yield* countOf(key)).toBe(1)
    })
  )

  it.effect("the same request for another customer conflicts", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const [a, b] = yield* Effect.all([made(key), made(key)])
      expect((yield* request("DELETE", `/${a.id}`, { key, once: "k" })).status).toBe(200)
      expect((yield* request("DELETE", `/${b.id}`, { key, once: "k" })).code).toBe("IDEMPOTENCY_KEY_CONFLICT")
      expect((yield* request("GET", `/${b.id}`, { key })).status).toBe(200)
    })
  )

  it.effect("responses of PATCH, DELETE, restore and anonymize are replayed, whatever happened since", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const path = `/${id}`
      const steps = [
        ["PATCH", path, { name: "Bo" }],
        ["DELETE", path],
        ["POST", `${path}/restore`],
        ["POST", "/bulk-delete", { ids: [id] }],
        ["POST", `${path}/restore`]
      ] as const
      const firsts: Array<EnvelopeAnswer> = []
      for (const [i, [method, at, body]] of steps.entries()) {
        firsts.push(yield* request(method, at, { key, body, once: `step ${i}` }))
        expect([method, at, firsts.at(-1)?.status]).toEqual([method, at, 200])
      }
      const now = (yield* request("GET", path, { key })).customer
      for (const [i, [method, at, body]] of steps.entries()) {
        const again = yield* request(method, at, { key, body, once: `step ${i}` })
        expect(isReplay(again)).toBe(true)
        expect(withoutRequestId(again)).toEqual(withoutRequestId(firsts[i] ?? again))
      }
      expect((yield* request("GET", path, { key })).customer).toEqual(now)
    })
  )

  it.effect("errors of the request are replayed, even if it would succeed now", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const unknown = `bcus_${"0".repeat(24)}`
      const failures = [
        ["POST", `/${id}/restore`, undefined, "INVALID_STATE"],
        ["POST", "", { name: "" }, "VALIDATION_ERROR"],
        ["PATCH", `/${id}`, { email: null }, "VALIDATION_ERROR"],
        ["DELETE", `/${unknown}`, undefined, "RESOURCE_NOT_FOUND"]
      ] as const
      const firsts: Array<EnvelopeAnswer> = []
      for (const [i, [method, path, body, code]] of failures.entries()) {
        const first = yield* request(method, path, { key, body, once: `failure ${i}` })
        expect([first.code, isReplay(first)]).toEqual([code, false])
        firsts.push(first)
      }
      yield* request("PATCH", `/${id}`, { key, body: { phone: "0612345678" } })
      yield* request("DELETE", `/${id}`, { key })
      for (const [i, [method, path, body]] of failures.entries()) {
        const again = yield* request(method, path, { key, body, once: `failure ${i}` })
        expect(isReplay(again)).toBe(true)
        expect(withoutRequestId(again)).toEqual(withoutRequestId(firsts[i] ?? again))
      }
    })
  )

  it.effect("nothing is replayed to a key that has lost the scope", () =>
    Effect.gen(function* () {
      const { key, keyId } = yield* organization()
      yield* request("POST", "", { key, body: bo, once: "k" })
      const sql = yield* SqlClient.SqlClient
      const other = yield* organization()
      yield* sql`update idempotency_keys set api_key_id = ${other.keyId} where api_key_id = ${keyId}`
      expect(isReplay(yield* request("POST", "", { key: other.key, body: bo, once: "k" }))).toBe(true)
      const { id, key: reader } = yield* other.keyWith(["bookings.customers.read"])
      yield* sql`update idempotency_keys set api_key_id = ${id} where api_key_id = ${other.keyId}`
      expect((yield* request("POST", "", { key: reader, body: bo, once: "k" })).code).toBe("SCOPE_INSUFFICIENT")
    })
  )

  it.effect("a key of 128 characters is accepted and one of 129 refused, for every writing method", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const long = "k".repeat(128)
      expect((yield* request("POST", "", { key, body: bo, once: long })).status).toBe(201)
      expect(isReplay(yield* request("POST", "", { key, body: bo, once: long }))).toBe(true)
      for (const [method, path] of [
        ["POST", ""],
        ["PATCH", `/${id}`],
        ["DELETE", `/${id}`],
        ["POST", `/${id}/anonymize`]
      ] as const) {
        const answer = yield* request(method, path, {
          key,
          body: method === "DELETE" ? undefined : bo,
          once: `${long}k`
        })
        expect([method, path, answer.code]).toEqual([method, path, "IDEMPOTENCY_KEY_TOO_LONG"])
      }
      expect(yield* countOf(key)).toBe(2)
    })
  )

  it.effect("GET ignores the header", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const before = yield* request("GET", `/${id}`, { key, once: "r" })
      yield* request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "r" })
      const after = yield* request("GET", `/${id}`, { key, once: "r" })
      expect([before.customer.name, after.customer.name, isReplay(after)]).toEqual(["Anna de Vries", "Bo", false])
    })
  )

  it.effect("two API keys may use the same value, in one organization or in two", () =>
    Effect.gen(function* () {
      const { key, keyWith } = yield* organization()
      const second = yield* keyWith(["bookings.customers.write"])
      const other = yield* organization()
      const answers = yield* Effect.all(
        [key, second.key, other.key].map((one) => request("POST", "", { key: one, body: bo, once: "word" })),
        { concurrency: "unbounded" }
      )
      expect(answers.map((answer) => [answer.status, isReplay(answer)])).toEqual([
        [201, false],
        [201, false],
        [201, false]
      ])
      expect(new Set(answers.map(({ customer }) => customer.id)).size).toBe(3)
    })
  )

  it.effect("a response is kept for 24 hours; then one of many concurrent requests takes effect", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const first = yield* request("POST", "", { key, body: bo, once: "day" })
      yield* age("23 hours 59 minutes")
      expect(isReplay(yield* request("POST", "", { key, body: bo, once: "day" }))).toBe(true)
      yield* age("2 minutes")
      const different = { ...bo, name: "Other" }
      const answers = yield* Effect.all(
        Array.from({ length: 10 }, () => request("POST", "", { key, body: different, once: "day" })),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(isReplay)).toHaveLength(9)
      expect(new Set(answers.map(textOf)).size).toBe(1)
      expect(answers[0]?.customer.id).not.toBe(first.customer.id)
      expect(yield* countOf(key)).toBe(2)
      expect((yield* request("POST", "", { key, body: bo, once: "day" })).code).toBe("IDEMPOTENCY_KEY_CONFLICT")
    })
  )

  it.effect(
    "what is nested deeply is refused, with a key and without; what is ignored may be an odd thing all the same",
    () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const nested = (depth: number) =>
          `{"name":"Bo","email":"bo@example.com","x":${"[".repeat(depth)}"[[\\"{{"${"]".repeat(depth)}}`
        const send = (depth: number, once?: string) =>
          Effect.map(request("POST", "", { key, body: nested(depth), ...(once && { once }) }), ({ code, status }) => [
            status,
            code
          ])
        expect([yield* send(50), yield* send(50, "odd")]).toEqual([
          [201, undefined],
          [201, undefined]
        ])
        expect([yield* send(50_000), yield* send(50_000, "deep")]).toEqual([
          [400, "VALIDATION_ERROR"],
          [400, "VALIDATION_ERROR"]
        ])
      })
  )

  it.scoped("kept responses survive a restart of the server", () =>
    Effect.gen(function* () {
      const database = Layer.succeedContext(yield* Layer.build(TestDatabase.layer))
      const onServer = <A, E>(work: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof workspaceServer>>>) =>
        Effect.scoped(
          Effect.flatMap(Layer.build(Layer.fresh(workspaceServer({ database }))), (context) =>
            Effect.provide(work, context)
          )
        )
      const { first, key } = yield* onServer(
        Effect.gen(function* () {
          const { key } = yield* organization()
          return { key, first: yield* request("POST", "", { key, body: bo, once: "restart" }) }
        })
      )
      const again = yield* onServer(request("POST", "", { key, body: bo, once: "restart" }))
      expect(isReplay(again)).toBe(true)
      expect(withoutRequestId(again)).toEqual(withoutRequestId(first))
    })
  )

  it.scoped("two nodes that get the same request at once create one customer", () =>
    Effect.gen(function* () {
      const database = Layer.succeedContext(yield* Layer.build(TestDatabase.layer))
      const node = Layer.build(Layer.fresh(workspaceServer({ database })))
      const [one, other] = yield* Effect.all([node, node])
      const { key } = yield* Effect.provide(organization(), one)
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, (_, i) =>
          Effect.provide(request("POST", "", { key, body: bo, once: "nodes" }), i % 2 === 0 ? one : other)
        ),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(isReplay)).toHaveLength(19)
      expect(new Set(answers.map(textOf)).size).toBe(1)
      expect(yield* Effect.provide(countOf(key), other)).toBe(1)
    })
  )
})
