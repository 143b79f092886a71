import { Cron } from "@svc/cluster/Cron"
import { Effect, Layer } from "effect"
import { CallLinksRepo } from "./CallLinksRepo.ts"

/** Deletes expired call links, every hour on one node. */
export const CallLinksWorker: Layer.Layer<never, never, Cron | CallLinksRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const cron = yield* Cron
    const { deleteExpired } = yield* CallLinksRepo
    yield* cron.schedule({ name: "calls.delete-links", every: "1 hour" }, deleteExpired)
  })
)
