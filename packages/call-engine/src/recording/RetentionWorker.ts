import { Billing } from "@svc/billing/Billing"
import { Cron } from "@svc/cluster/Cron"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { Clock, Config, type ConfigError, Effect, Layer } from "effect"
import { ServerRequestsRepo } from "../record/ServerRequestsRepo.ts"
import { keyOf } from "./Recorder.ts"
import { type CallIds, RecordingsRepo } from "./RecordingsRepo.ts"

/** Recordings or rows that are deleted at a time. */
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
 * Every hour, deletes recordings after their retention (90 days), and all recordings of an organization that has been
 * without credits for 7 days; also the requests to agents' servers that debug pages show. The file is deleted before
 * its row, so that an interrupted run is repaired by the next.
 */
export const RetentionWorker: Layer.Layer<
  never,
  ConfigError.ConfigError,
  Cron | Billing | ObjectStore | RecordingsRepo | ServerRequestsRepo
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const cron = yield* Cron
    const billing = yield* Billing
    const store = yield* ObjectStore
    const repo = yield* RecordingsRepo
    const serverRequests = yield* ServerRequestsRepo
    const { kept, suspended } = yield* retention

    /** Returns whether it was deleted. */
    const remove = ({ id, public_id }: CallIds) =>
      store.remove(keyOf(public_id)).pipe(
        Effect.zipRight(repo.drop(id)),
        Effect.as(true),
        Effect.catchAll(({ reason }) =>
          Effect.as(Effect.logWarning(`The recording of ${public_id} could not be deleted: ${reason}`), false)
        ),
        Effect.annotateLogs("call_id", public_id)
      )

    const work = Effect.gen(function* () {
      const since = new Date((yield* Clock.currentTimeMillis) - suspended * dayMs)
      const organizations = yield* billing.suspendedBefore(yield* repo.organizations(suspended), since)
      const expiry = { days: kept, suspended: organizations, suspendedDays: suspended }
      let deleted = 0
      for (let more = true; more; ) {
        const expired = yield* repo.expired(expiry, batch)
        const results = yield* Effect.forEach(expired, remove)
        deleted += results.filter((isDeleted) => isDeleted).length
        // A recording that cannot be deleted now would be selected again without end.
        more = expired.length === batch && results.every((isDeleted) => isDeleted)
      }
      if (deleted > 0) yield* Effect.logInfo(`Recordings deleted after their retention: ${deleted}`)
    })
    yield* cron.schedule({ name: "calls.delete-recordings", every: "1 hour" }, work)
    const deleteRequests = Effect.repeat(serverRequests.deleteOlder(kept, batch), { while: (count) => count === batch })
    yield* cron.schedule({ name: "calls.delete-exchanges", every: "1 hour" }, Effect.asVoid(deleteRequests))
  })
)
