import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as Line from "../src/blackbox/Line.ts"
import { freshNumber } from "../src/blackbox/Line.ts"

const url = "http://127.0.0.1:9/hook"

/** The number of sessions of this database that wait for a lock. */
const waiting = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly n: number }>`
    select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
).pipe(Effect.map(([row]) => row?.n ?? 0))

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("The deletion of a project", (it) => {
  it.scoped("makes everything that is created in it at the same moment a 404 PROJECT_NOT_FOUND", () =>
    Effect.gen(function* () {
      const server = yield* BlackBox
      const sql = yield* SqlClient.SqlClient
      const byOrg = ApiClient.make(server.url, server.keys.org)
      const project = ApiClient.textAt((yield* byOrg.post("/v1/org/projects", { name: "Short" })).body, "id")
      const key = ApiClient.textAt((yield* byOrg.post(`/v1/org/projects/${project}/api-keys`, {})).body, "key")
      const api = ApiClient.make(server.url, Redacted.make(key))
      const { agentId } = yield* Line.open({ ...server, api }, () => ({ json: {} }))
      const numeric = ApiClient.at((yield* byOrg.get(`/v1/org/projects/${project}`)).body, "internal_id")
      const agent = { name: "Late", server_url: "http://127.0.0.1:9/agent" }
      const creations = [
        api.post("/v1/agents", agent),
        api.post(`/v1/agents/${agentId}/clone`, {}),
        api.post("/v1/phone-numbers/import", { number: freshNumber(), telephony: "simulated" }),
        api.post("/v1/addresses", { customer_name: "A", street: "B 1", city: "C", postcode: "D", country: "NL" }),
        api.post("/v1/project/api-keys", {}),
        byOrg.post(`/v1/org/projects/${project}/api-keys`, {}),
        api.post("/v1/webhooks", { url, events: ["*"] }),
        byOrg.post("/v1/webhooks", { url, events: ["*"], filters: { project_id: numeric } }),
        api.patch("/v1/project/webhook", { webhook_url: url })
      ]
      const go = yield* Deferred.make<void>()
      const locked = yield* Deferred.make<void>()
      const deletion = yield* Effect.fork(
        sql.withTransaction(
          sql`update projects set deleted_at = now() where public_id = ${project}`.pipe(
            Effect.zipRight(Deferred.succeed(locked, undefined)),
            Effect.zipRight(Deferred.await(go))
          )
        )
      )
      yield* Deferred.await(locked)
      const made = yield* Effect.fork(Effect.all(creations, { concurrency: "unbounded" }))
      yield* Effect.repeat(waiting, { until: (n) => n === creations.length })
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(deletion)
      for (const [index, { body, status }] of (yield* Fiber.join(made)).entries()) {
        expect([index, status, body["code"]]).toEqual([index, 404, "PROJECT_NOT_FOUND"])
      }
    })
  )
})
