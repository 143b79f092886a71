import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Deferred, Effect, Exit, Fiber, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const path = "/api/workspace/v1/bookings/customers"
const limits = { SVC_LIMIT_WORKSPACE_KEY_PER_MINUTE: "1000000", SVC_LIMIT_WORKSPACE_ORG_PER_MINUTE: "1000000" }

it.scopedLive(
  "requests that a killed server did not answer take effect once when repeated with their Idempotency-Key",
  () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const keys = yield* ServerProcess.newKeys
      const options = { data: { url: database }, keys, env: limits }
      const server = yield* ServerProcess.start(options)
      const numbers = Array.from({ length: 300 }, (_, n) => n)
      const create = (url: string, n: number) =>
        ApiClient.make(url, keys.workspace).request("POST", path, {
          json: { name: `Customer ${n}`, email: `c${n}@example.com` },
          headers: { "idempotency-key": `create-${n}` }
        })

      // The server is killed under load: some requests are answered, some in flight, some not sent.
      const enough = yield* Deferred.make<void>()
      let answered = 0
      const first = yield* Effect.fork(
        Effect.forEach(
          numbers,
          (n) =>
            Effect.exit(create(server.url, n)).pipe(
              Effect.tap((exit) => {
                if (Exit.isSuccess(exit)) answered += 1
                return answered === 100 ? Deferred.succeed(enough, undefined) : Effect.void
              })
            ),
          { concurrency: 20 }
        )
      )
      yield* Deferred.await(enough)
      yield* server.signal("SIGKILL")
      yield* server.exit()
      const before = yield* Fiber.join(first)
      expect(before.some(Exit.isFailure)).toBe(true)

      const next = yield* ServerProcess.start(options)
      const after = yield* Effect.forEach(numbers, (n) => create(next.url, n), { concurrency: 20 })
      expect(after.filter(({ status }) => status !== 201)).toEqual([])
      before.forEach((exit, n) => {
        if (!Exit.isSuccess(exit)) return
        expect(after[n]?.headers.get("idempotency-replayed")).toBe("true")
        expect(after[n]?.body["data"]).toEqual(exit.value.body["data"])
      })

      const [counted] = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ readonly customers: number; readonly names: number; readonly events: number }>`
          select (select count(*) from booking_customers) as customers,
            (select count(distinct name) from booking_customers) as names,
            (select count(*) from events where event = 'booking_customer.created') as events`
      ).pipe(Effect.provide(pool(Redacted.value(database), 1)))
      expect(counted).toEqual({ customers: 300, names: 300, events: 300 })
    }),
  90_000
)
