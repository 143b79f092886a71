import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { Customers } from "@svc/bookings/Customers"
import { Effect, Layer } from "effect"
import { authentication } from "../../../src/http/workspace/Authentication.ts"
import { body } from "../../../src/http/workspace/Body.ts"
import { idempotencyKey } from "../../../src/http/workspace/IdempotencyKey.ts"
import { requestRate } from "../../../src/http/workspace/RequestRate.ts"
import { scope } from "../../../src/http/workspace/Scope.ts"
import * as WorkspacePipeline from "../../../src/http/workspace/WorkspacePipeline.ts"
import { made, organization, request, workspaceServer } from "../../servers/WorkspaceServer.ts"

/** Answers to faults of the server: MIDDLEWARE_ORDER, INTERNAL. */

const bo = { name: "Bo", email: "bo@example.com" }
const secret = "select password from secrets"

/** The server's steps in orders in which one of them lacks what another should have found out. */
const wrongOrders = [
  ["rates before the key", Effect.all([requestRate, authentication, scope, body, idempotencyKey])],
  ["the scope before the key", Effect.all([scope, authentication, requestRate, body, idempotencyKey])],
  ["idempotency before the key", Effect.all([body, idempotencyKey, authentication, requestRate, scope])],
  ["idempotency before the body", Effect.all([authentication, requestRate, scope, idempotencyKey, body])],
  ["no key asked for", Effect.all([body])],
  ["no body read", Effect.all([authentication, requestRate, scope])]
] as const

for (const [name, steps] of wrongOrders) {
  layer(workspaceServer({ pipeline: WorkspacePipeline.layerOf(WorkspaceApi, steps) }), { excludeTestServices: true })(
    `middleware in a wrong order: ${name}`,
    (it) => {
      it.effect("answers MIDDLEWARE_ORDER and runs no handler", () =>
        Effect.gen(function* () {
          const { key } = yield* organization()
          const answer = yield* request("POST", "", { key, body: bo, once: "k" })
          expect(answer.code).toBe("MIDDLEWARE_ORDER")
          const sql = yield* SqlClient.SqlClient
          expect(yield* sql`select 1 from booking_customers`).toEqual([])
          expect(yield* sql`select 1 from idempotency_keys`).toEqual([])
        })
      )
    }
  )
}

/** Makes customers, and dies after the first; dies when one is asked for, in other ways. */
const Dying = Layer.effect(
  Customers,
  Effect.map(Customers, (customers) => {
    let isFirst = true
    return {
      ...customers,
      create: (...args: Parameters<typeof customers.create>) =>
        Effect.flatMap(customers.create(...args), (customer) => {
          const dies = isFirst
          isFirst = false
          return dies ? Effect.die(new Error(secret)) : Effect.succeed(customer)
        }),
      get: () => {
        throw new Error(secret)
      },
      remove: () => Effect.interrupt
    }
  })
).pipe(Layer.provide(Customers.layer))

layer(workspaceServer({ customers: Dying }), { excludeTestServices: true })("a handler with a defect", (it) => {
  it.effect("answers INTERNAL, rolls back, and keeps nothing under the Idempotency-Key", () =>
    Effect.gen(function* () {
      const { key, org } = yield* organization()
      const first = yield* request("POST", "", { key, body: bo, once: "k" })
      expect(first.code).toBe("INTERNAL")
      expect(first.text).not.toMatch(/select|secret|Error:|at \/|\.ts/)
      expect((yield* request("GET", "", { key })).customers).toEqual([])
      const sql = yield* SqlClient.SqlClient
      expect(yield* sql`select 1 from events where org_id = ${org.id}`).toEqual([])
      const second = yield* request("POST", "", { key, body: bo, once: "k" })
      expect([second.status, second.headers["idempotency-replayed"]]).toEqual([201, undefined])
      expect((yield* request("POST", "", { key, body: bo, once: "k" })).customer).toEqual(second.customer)
    })
  )

  it.effect("or an exception answers INTERNAL without details", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const answer = yield* request("GET", `/${id}`, { key, headers: { "x-request-id": "mine" } })
      expect([answer.code, answer.body.meta.request_id]).toEqual(["INTERNAL", "mine"])
      expect(answer.text).not.toMatch(/select|secret|Error:|at \/|\.ts/)
    })
  )

  it.effect("does not affect other requests", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const all = Array.from({ length: 20 }, () => request("GET", `/bcus_${"0".repeat(24)}`, { key }))
      for (const answer of yield* Effect.all(all, { concurrency: "unbounded" })) expect(answer.code).toBe("INTERNAL")
      expect((yield* request("GET", "", { key })).status).toBe(200)
      expect((yield* request("POST", "", { key, body: bo })).status).toBe(201)
    })
  )
})
