import { Billing } from "@svc/billing/Billing"
import { Cron } from "@svc/cluster/Cron"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { Clock, Config, type ConfigError, Effect, Layer } from "effect"
import { DebugRepo } from "../record/DebugRepo.ts"
import { keyOf } from "./Recorder.ts"
import { type CallIds, RecordingsRepo } from "./RecordingsRepo.ts"

/** Recordings, and rows of other things, that are deleted at a time. */
const batch = 200
const dayMs = 86_400_000

const days = (name: string, byDefault: number): Config.Config<number> =>
  Config.integer(name).pipe(
    Config.validate({ message: "must be a number of days from 1 to 36500", validation: (n) => n >= 1 && n <= 36_500 }),
    Config.withDefault(byDefault)
  )

/** For how many days recordings are kept. */
export const retention: Config.Config<{ readonly kept: number; readonly suspended: number }> = Config.all({
  kept: days("SVC_RECORDING_RETENTION_DAYS", 90),
  suspended: days("SVC_RECORDING_RETENTION_SUSPENDED_DAYS", 7)
})

/**
 * Deletes recordings that are past their time (spec 4.3, 8): after 90 days, and all that an account has once it has been
 * suspended (without credits) for 7. The file goes first, so that a record without it is mended by the next run, every
 * hour. What debug pages tell of requests to the agent's server goes with them.
 */
export const RetentionWorker: Layer.Layer<
  never,
  ConfigError.ConfigError,
  Cron | Billing | ObjectStore | RecordingsRepo | DebugRepo
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const cron = yield* Cron
    const billing = yield* Billing
    const store = yield* ObjectStore
    const repo = yield* RecordingsRepo
    const debug = yield* DebugRepo
    const { kept, suspended } = yield* retention

    /** Whether it is gone. */
    const remove = ({ id, public_id }: CallIds) =>
      store.remove(keyOf(public_id)).pipe(
        Effect.zipRight(repo.drop(id)),
        Effect.as(true),
        Effect.catchAll(({ reason }) =>
          Effect.as(Effect.logWarning(`The recording of ${public_id} could not be deleted: ${reason}`), false)
        )
      )

    const work = Effect.gen(function* () {
      const since = new Date((yield* Clock.currentTimeMillis) - suspended * dayMs)
      const organizations = yield* billing.suspendedBefore(yield* repo.organizations(suspended), since)
      const expiry = { days: kept, suspended: organizations, suspendedDays: suspended }
      let deleted = 0
      for (let more = true; more; ) {
        const expired = yield* repo.expired(expiry, batch)
        const gone = yield* Effect.forEach(expired, remove)
        deleted += gone.filter((is) => is).length
        // What cannot be deleted now would come again and again.
        more = expired.length === batch && gone.every((is) => is)
      }
      if (deleted > 0) yield* Effect.logInfo(`Recordings deleted after their time: ${deleted}`)
    })
    yield* cron.schedule({ name: "calls.delete-recordings", every: "1 hour" }, work)
    const forget = Effect.repeat(debug.forgetExchanges(kept, batch), { while: (gone) => gone === batch })
    yield* cron.schedule({ name: "calls.delete-exchanges", every: "1 hour" }, Effect.asVoid(forget))
  })
)
