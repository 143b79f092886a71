import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { account, appendEvents, isQueueEmpty, requestsTo, until, WithWorker, webhookOf } from "./Fixture.ts"

layer(WithWorker, { excludeTestServices: true })("DeliveryWorker while the database is away", (it) => {
  it.scoped("no delivery is lost when all connections to the database break", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      yield* appendEvents(
        owner,
        Array.from({ length: 80 }, (_, n) => String(n))
      )
      // All connections but this one.
      yield* sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
      const look = isQueueEmpty.pipe(Effect.disconnect, Effect.timeout("1 second"))
      yield* until(
        Effect.catchAllCause(look, () => Effect.succeed(false)),
        (is) => is
      )
      const requests = yield* requestsTo(webhook.url)
      expect(new Set(requests.map(({ event_id }) => event_id)).size).toBe(80)
    })
  )
})
