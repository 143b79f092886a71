import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { sweepInterval } from "@svc/cluster/SweepInterval"
import { Effect, Layer } from "effect"
import { SmsDispatch } from "./SmsDispatch.ts"
import { leases, SmsRepo } from "./SmsRepo.ts"

/**
 * Ends the messages that dead nodes left behind: sends them again where the network delivers an id once, or records that
 * it is not known whether they were sent. Every node runs it.
 */
export const SmsRecoveryWorker: Layer.Layer<never, never, NodeLease | SmsRepo | SmsDispatch> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lease = yield* NodeLease
    const repo = yield* SmsRepo
    const dispatch = yield* SmsDispatch
    // The messages are claimed by the task below: a network may not be asked in this transaction.
    const settled = Effect.unsafeMakeLatch()
    yield* lease.onDeath(leases, () => Effect.void, Effect.asVoid(settled.open))
    yield* startPeriodicTask({
      every: sweepInterval(lease, "1 second", "5 seconds"),
      early: Effect.tap(settled.await, () => settled.close),
      run: Effect.gen(function* () {
        const { id } = yield* lease.current
        const lost = yield* repo.claimLost(id, yield* dispatch.held)
        yield* Effect.forEach(lost, dispatch.end, { concurrency: "unbounded", discard: true })
      }),
      failureMessage: "Text messages of ended nodes could not be taken over; trying again"
    })
  })
)
