import { Cron } from "@svc/cluster/Cron"
import { Effect, Layer } from "effect"
import { CustomersRepo } from "./CustomersRepo.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"

/** Rows that one statement removes, so that none holds its locks for long. */
const batch = 500

/** Removes batch after batch until one is not full; gives how many there were. */
const purgeAll = (purge: (limit: number) => Effect.Effect<number>): Effect.Effect<number> =>
  Effect.iterate(
    { removed: 0, more: true },
    {
      while: ({ more }) => more,
      body: ({ removed }) => Effect.map(purge(batch), (count) => ({ removed: removed + count, more: count === batch }))
    }
  ).pipe(Effect.map(({ removed }) => removed))

/**
 * Removes for good what was kept for a while: customers after 30 days in the recycle bin (every night at three, UTC), and
 * answers to idempotency keys after a day (every hour). Whichever node comes first does it. A customer's links
 * would be nulled and its attachments removed here too; there is nothing yet that has any.
 */
export const PurgeWorker: Layer.Layer<never, never, Cron | CustomersRepo | IdempotencyRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const cron = yield* Cron
    const customers = yield* CustomersRepo
    const answers = yield* IdempotencyRepo
    yield* cron.schedule(
      { name: "bookings.purge-customers", every: "1 day", at: "3 hours" },
      Effect.flatMap(purgeAll(customers.purge), (count) =>
        count === 0 ? Effect.void : Effect.logInfo(`Booking customers removed for good: ${count}`)
      )
    )
    yield* cron.schedule(
      { name: "bookings.purge-idempotency-keys", every: "1 hour" },
      Effect.asVoid(purgeAll(answers.purge))
    )
  })
)
