import { Cron } from "@svc/cluster/Cron"
import { Outbox } from "@svc/database/Outbox"
import { Clock, Config, type ConfigError, Effect, Layer } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"

/** Rows that one statement removes, so that it does not hold locks for long. */
const batchSize = 1000
const dayMs = 86_400_000

/** For how many days events, attempts and dead letters are kept: `SVC_WEBHOOK_RETENTION_DAYS`, by default 30. */
export const webhookRetention: Config.Config<number> = Config.integer("SVC_WEBHOOK_RETENTION_DAYS").pipe(
  Config.validate({ message: "must be a number of days from 1 to 36500", validation: (n) => n >= 1 && n <= 36_500 }),
  Config.withDefault(30)
)

/** Removes batches until one is not full; returns the number of rows. */
const removeAll = (removeBatch: (limit: number) => Effect.Effect<number>): Effect.Effect<number> =>
  Effect.iterate(
    { removed: 0, more: true },
    {
      while: ({ more }) => more,
      body: ({ removed }) =>
        Effect.map(removeBatch(batchSize), (count) => ({ removed: removed + count, more: count === batchSize }))
    }
  ).pipe(Effect.map(({ removed }) => removed))

/**
 * Removes old events, attempts and dead letters every hour (docs/reference/webhooks.md). Their age counts from the
 * event, the attempt, or the time at which the delivery became a dead letter. An event with a pending delivery or a
 * dead letter is kept, however old it is.
 */
export const CleanupWorker: Layer.Layer<never, ConfigError.ConfigError, Cron | Outbox | DeliveriesRepo> =
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const cron = yield* Cron
      const outbox = yield* Outbox
      const deliveries = yield* DeliveriesRepo
      const days = yield* webhookRetention

      const work = Effect.gen(function* () {
        const before = new Date((yield* Clock.currentTimeMillis) - days * dayMs)
        const attempts = yield* removeAll((limit) => deliveries.removeBefore(before, limit))
        const events = yield* removeAll((limit) => outbox.removeBefore(before, limit))
        if (attempts + events > 0) {
          yield* Effect.logInfo(`Removed after ${days} days: ${events} events, ${attempts} delivery attempts`)
        }
      })
      yield* cron.schedule({ name: "webhooks.forget", every: "1 hour" }, work)
    })
  )
