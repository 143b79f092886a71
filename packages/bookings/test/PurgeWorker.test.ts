import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Cron, type Job } from "@svc/cluster/Cron"
import { Duration, Effect, Layer } from "effect"
import { Customers } from "../src/Customers.ts"
import { Idempotency } from "../src/Idempotency.ts"
import { PurgeWorker } from "../src/PurgeWorker.ts"
import { seedCustomers } from "../src/testing/SeedCustomers.ts"
import { anna, apiKey, organization, Test } from "./Account.ts"

/** The worker's jobs, run by the test. */
const scheduled = Effect.gen(function* () {
  const jobs = new Map<string, { readonly job: Job; readonly work: Effect.Effect<void> }>()
  const cron = Layer.succeed(Cron, {
    schedule: (job, work) => Effect.sync(() => void jobs.set(job.name, { job, work }))
  })
  yield* Layer.build(PurgeWorker.pipe(Layer.provide(cron)))
  return jobs
})

layer(Test)("PurgeWorker", (it) => {
  it.scoped("the daily job removes customers after 30 days in the recycle bin, and no others", () =>
    Effect.gen(function* () {
      const customers = yield* Customers
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization()
      const make = (name: string) => customers.create(org, anna({ name }))
      const [live, recent, old] = yield* Effect.all([make("live"), make("recent"), make("old")])
      yield* customers.removeMany(org, [recent.id, old.id])
      yield* sql`
        update booking_customers set deleted_at = now() - interval '29 days 23 hours' where public_id = ${recent.id}`
      yield* sql`update booking_customers set deleted_at = now() - interval '30 days' where public_id = ${old.id}`

      const job = (yield* scheduled).get("bookings.purge-customers")
      expect(Duration.toHours(job?.job.every ?? 0)).toBe(24)
      yield* job?.work ?? Effect.void
      const left = yield* sql<{ readonly name: string }>`
        select name from booking_customers where org_id = ${org.id} order by id`
      expect(left.map(({ name }) => name)).toEqual([live.name, recent.name])
    })
  )

  it.scoped("removes many rows in batches, and is idempotent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization()
      yield* seedCustomers(org.id, 3000)
      yield* sql`update booking_customers set deleted_at = now() - interval '31 days' where org_id = ${org.id}`
      const { work = Effect.void } = (yield* scheduled).get("bookings.purge-customers") ?? {}
      yield* Effect.all([work, work], { concurrency: 2 })
      yield* work
      expect((yield* sql`select 1 from booking_customers where org_id = ${org.id}`).length).toBe(0)
    })
  )

  it.scoped("the hourly job removes idempotency keys after a day", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const sql = yield* SqlClient.SqlClient
      const key_id = yield* Effect.flatMap(organization(), ({ id }) => apiKey(id))
      for (const key of ["old", "new"]) {
        yield* idempotency.once({ key_id, key, content: 1 }, Effect.succeed({ status: 200, answer: {} }))
      }
      yield* sql`
        update idempotency_keys set created_at = now() - interval '24 hours' where api_key_id = ${key_id} and key = 'old'`
      const job = (yield* scheduled).get("bookings.purge-idempotency-keys")
      expect(Duration.toMinutes(job?.job.every ?? 0)).toBe(60)
      yield* job?.work ?? Effect.void
      const left = yield* sql<{ readonly key: string }>`select key from idempotency_keys where api_key_id = ${key_id}`
      expect(left.map(({ key }) => key)).toEqual(["new"])
    })
  )
})
