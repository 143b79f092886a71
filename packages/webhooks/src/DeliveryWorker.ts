import { inSteps } from "@svc/api/Thread"
import type { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Effect, Layer, Schedule } from "effect"
import { DeliveriesRepo, deadLetterReasons } from "./DeliveriesRepo.ts"
import { makeClaimLoop } from "./delivery/ClaimLoop.ts"
import { leases } from "./delivery/ClaimStatement.ts"
import { DeliveryFanOut } from "./delivery/DeliveryFanOut.ts"
import { showInFlight } from "./delivery/DeliveryMetrics.ts"
import { InFlight } from "./delivery/InFlight.ts"
import { makeOutcomeRecorder } from "./delivery/OutcomeRecorder.ts"
import { type ClaimedDelivery, QueueRepo } from "./delivery/QueueRepo.ts"
import { ReceiverClient } from "./delivery/ReceiverClient.ts"
import type { RetrySchedule } from "./delivery/RetrySchedule.ts"

/** How often in-flight attempts are checked, in milliseconds. */
const tickMs = 50
/** How long a shutdown waits for in-flight attempts, and again for their outcomes to be recorded. */
const shutdownTimeout = "5 seconds"
const shutdownPoll = Schedule.spaced("20 millis")

/** Why a delivery becomes a dead letter without an attempt; null when it is to be attempted. */
const reasonOf = ({ is_active, may_receive, secret_error }: ClaimedDelivery): string | null => {
  if (!is_active) return deadLetterReasons.disabled
  return may_receive ? secret_error : deadLetterReasons.moved
}

/**
 * Delivers events to webhooks (docs/reference/webhooks.md). Every node runs it: it claims deliveries that are due,
 * sends them, records the outcomes and disables webhooks that keep failing. A claimed delivery belongs to the node as
 * long as its lease holds. When the lease is lost, or the node is dead, others recover the delivery and attempt it
 * again.
 */
export const DeliveryWorker: Layer.Layer<
  never,
  never,
  DueCheck | NodeLease | DeliveryFanOut | QueueRepo | DeliveriesRepo | ReceiverClient | RetrySchedule
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lease = yield* NodeLease
    const fanOut = yield* DeliveryFanOut
    const queue = yield* QueueRepo
    const client = yield* ReceiverClient
    const clock = yield* Effect.clock
    let node = ""

    const outcomes = yield* makeOutcomeRecorder
    const inFlight: InFlight = new InFlight({
      post: client.post,
      now: () => clock.unsafeCurrentTimeMillis(),
      onCompleted: ({ at, delivery, result: { error, status_code } }) =>
        outcomes.add({ delivery, node, at, status_code, error, next_at: null }),
      onRoom: () => claims.wake()
    })
    /** Open: {@link inFlight} is not idle. */
    const isActive = Effect.unsafeMakeLatch()

    /**
     * Whether to attempt a claimed delivery. One of a webhook that was disabled, deleted or limited to another project
     * gets its outcome instead.
     */
    const isSendable = (delivery: ClaimedDelivery): boolean => {
      // After a crash the database may have lost the claim, and have returned the delivery once more.
      if (inFlight.has(delivery.id) || outcomes.has(delivery.id)) return false
      if (delivery.consecutive_failures > 0) outcomes.markFailing(delivery.webhook_id)
      const isDeleted = delivery.url === "" || delivery.data === ""
      if (!isDeleted && reasonOf(delivery) === null) return true
      const error = isDeleted ? null : reasonOf(delivery)
      outcomes.add({ delivery, node, at: null, status_code: null, error, next_at: null })
      return false
    }
    /** In steps: an event may have deliveries to any number of webhooks. Whole, so that each starts or is abandoned. */
    const send = (claimed: ReadonlyArray<ClaimedDelivery>) =>
      inSteps(function* () {
        const sendable = claimed.filter(isSendable)
        if (sendable.length > 0) isActive.unsafeOpen()
        yield* inFlight.starting(sendable)
      }).pipe(Effect.uninterruptible)
    const claims = yield* makeClaimLoop(inFlight, outcomes, send)
    yield* fanOut.onDeliveries(claims.announce)
    yield* (yield* DeliveriesRepo).onQueued(claims.queued)

    const tick = Effect.gen(function* () {
      yield* isActive.await
      yield* Effect.sleep(tickMs)
      inFlight.tick()
      showInFlight(inFlight.size)
      if (inFlight.isIdle) isActive.unsafeClose()
    })

    /** Works under one lease until it is lost. Another node then recovers the deliveries and attempts them again. */
    const workUnderLease = Effect.gen(function* () {
      const { id, lost } = yield* lease.current
      // There is no new lease while the database is unreachable.
      if (id === node) return yield* Effect.sleep("1 second")
      node = id
      yield* Effect.raceFirst(claims.run(id), lost)
      inFlight.abandon()
    })

    /** Completes what is in flight, and releases what could not be completed in time. */
    const shutDown = Effect.gen(function* () {
      const waitFor = (isDone: () => boolean) =>
        Effect.suspend(() => (isDone() ? Effect.void : Effect.fail("not yet"))).pipe(
          Effect.retry(shutdownPoll),
          Effect.timeoutOption(shutdownTimeout),
          Effect.ignore
        )
      yield* waitFor(() => inFlight.size === 0)
      const unfinished = inFlight.abandon()
      yield* waitFor(outcomes.isEmpty)
      if (unfinished.length > 0)
        yield* Effect.ignoreLogged(Effect.timeout(queue.release([node], unfinished), shutdownTimeout))
    })

    yield* lease.onDeath(leases, (nodes) => Effect.orDie(queue.release(nodes)))
    yield* Effect.forkScoped(outcomes.run)
    yield* Effect.forkScoped(Effect.forever(tick))
    yield* Effect.addFinalizer(() => Effect.interruptible(shutDown))
    yield* Effect.forkScoped(Effect.forever(workUnderLease))
  })
)
