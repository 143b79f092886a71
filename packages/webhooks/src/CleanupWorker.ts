import { Cron } from "@svc/cluster/Cron"
import { Outbox } from "@svc/database/Outbox"
import { Clock, Config, type ConfigError, Effect, Layer } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"

/** Rows that one statement removes, so that none holds its locks for long. */
const batch = 1000
const dayMs = 86_400_000

/** For how many days events, attempts and dead letters are kept: `SVC_WEBHOOK_RETENTION_DAYS`, by default 30. */
export const webhookRetention: Config.Config<number> = Config.integer("SVC_WEBHOOK_RETENTION_DAYS").pipe(
  Config.validate({ message: "must be a number of days from 1 to 36500", validation: (n) => n >= 1 && n <= 36_500 }),
  Config.withDefault(30)
)

/** Removes batch after batch until one is not full; gives how many there were. */
const forgetAll = (forget: (limit: number) => Effect.Effect<number>): Effect.Effect<number> =>
  Effect.iterate(
    { removed: 0, more: true },
    {
      while: ({ more }) => more,
      body: ({ removed }) => Effect.map(forget(batch), (count) => ({ removed: removed + count, more: count === batch }))
    }
  ).pipe(Effect.map(({ removed }) => removed))

/**
 * Removes events and what became of their deliveries once they are old (decisions §5.10), every hour, in small batches.
 * Days count from the event, from the attempt, and for a dead letter from when it became one. An event stays as long as
 * one of its deliveries waits or is a dead letter, however old it is.
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
        const attempts = yield* forgetAll((limit) => deliveries.forget(before, limit))
        const events = yield* forgetAll((limit) => outbox.forget(before, limit))
        if (attempts + events > 0) {
          yield* Effect.logInfo(`Removed after ${days} days: ${events} events, ${attempts} delivery attempts`)
        }
      })
      yield* cron.schedule({ name: "webhooks.forget", every: "1 hour" }, work)
    })
  )
