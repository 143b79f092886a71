import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Duration, Effect, Layer } from "effect"
import { SmsDispatch } from "./SmsDispatch.ts"
import { leases, SmsRepo } from "./SmsRepo.ts"

const retryInterval = Duration.seconds(1)

/**
 * Ends the messages that dead nodes left behind: sends them again where the network delivers an id once, or records that
 * it is not known whether they were sent. Every node runs it.
 */
export const SmsRecoveryWorker: Layer.Layer<never, never, DueCheck | NodeLease | SmsRepo | SmsDispatch> =
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const lease = yield* NodeLease
      const repo = yield* SmsRepo
      const dispatch = yield* SmsDispatch
      /** Open: there may be messages to claim. The task below claims them: a network may not be asked in the transaction. */
      const due = Effect.unsafeMakeLatch()
      yield* lease.onDeath(leases, () => Effect.void, Effect.asVoid(due.open))
      let hasFailed = false
      yield* startPeriodicTask({
        // After a failure the latch is closed, although messages may be left.
        every: Effect.sync(() => (hasFailed ? retryInterval : Duration.infinity)),
        early: Effect.raceFirst(
          Effect.tap(due.await, () => due.close),
          yield* (yield* DueCheck).register("sms.recovery", () => repo.mayHaveLost)
        ),
        run: Effect.gen(function* () {
          hasFailed = true
          const { id } = yield* lease.current
          const lost = yield* repo.claimLost(id, yield* dispatch.held)
          yield* Effect.forEach(lost, dispatch.end, { concurrency: "unbounded", discard: true })
          hasFailed = false
          // One claim is limited: more may be left.
          if (lost.length > 0) yield* due.open
        }),
        failureMessage: "Text messages of ended nodes could not be taken over; trying again"
      })
    })
  )
