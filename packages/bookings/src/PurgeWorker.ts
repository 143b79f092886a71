import { Cron } from "@svc/cluster/Cron"
import { Effect, Layer } from "effect"
import { CustomersRepo } from "./CustomersRepo.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"

/** Rows that one statement removes, to keep its locks short. */
const batch = 500

/** Removes batch after batch until one is not full; returns the number of rows. */
const purgeAll = (purge: (limit: number) => Effect.Effect<number>): Effect.Effect<number> =>
  Effect.iterate(
    { removed: 0, more: true },
    {
      while: ({ more }) => more,
      body: ({ removed }) => Effect.map(purge(batch), (count) => ({ removed: removed + count, more: count === batch }))
    }
  ).pipe(Effect.map(({ removed }) => removed))

/**
 * Removes customers after 30 days in the recycle bin (daily at 03:00 UTC) and answers of idempotency keys after a day
 * (hourly), each on one node. Resources that refer to customers would be unlinked here too; there are none yet.
 */
export const PurgeWorker: Layer.Layer<never, never, Cron | CustomersRepo | IdempotencyRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const cron = yield* Cron
    const customers = yield* CustomersRepo
    const answers = yield* IdempotencyRepo
    yield* cron.schedule(
      { name: "bookings.purge-customers", every: "1 day", at: "3 hours" },
      Effect.flatMap(purgeAll(customers.purge), (count) =>
        count === 0 ? Effect.void : Effect.logInfo(`Booking customers purged: ${count}`)
      )
    )
    yield* cron.schedule(
      { name: "bookings.purge-idempotency-keys", every: "1 hour" },
      Effect.asVoid(purgeAll(answers.purge))
    )
  })
)
