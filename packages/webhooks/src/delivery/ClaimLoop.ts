import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Cause, Effect, type Scope } from "effect"
import type { NewDeliveries } from "./DeliveryFanOut.ts"
import type { InFlight } from "./InFlight.ts"
import type { OutcomeRecorder } from "./OutcomeRecorder.ts"
import { PendingDeliveries } from "./PendingDeliveries.ts"
import { type ClaimedDelivery, QueueRepo, withStatementTimeout } from "./QueueRepo.ts"
import { RetrySchedule } from "./RetrySchedule.ts"

/** How often to claim for all webhooks, in milliseconds. */
const claimAllIntervalMs = 250
/** How long a node that is alone waits at most before it considers whether it still is, in milliseconds. */
const quietIntervalMs = 2_000
/** How long a node claims for all webhooks after it queued deliveries, in milliseconds: some may be committed late. */
const activeMs = 10_000
/** How often such a claim also recovers deliveries whose claim was lost, in milliseconds. */
const recoverIntervalMs = 2_000
/** How long to wait when deliveries are due but the node has no room, in milliseconds. */
const noRoomDelayMs = 10
const databaseRetryDelay = "500 millis"

/** Claims deliveries for this node. */
export interface ClaimLoop {
  /** Claims at once for webhooks that got deliveries from this process. */
  readonly announce: (created: NewDeliveries, isCommitted: boolean) => void
  /** Claims soon for all webhooks: this process queued deliveries that are not announced. */
  readonly queued: () => void
  /** A webhook has room again. */
  readonly wake: () => void
  /** Claims under this lease until interrupted. */
  readonly run: (node: string) => Effect.Effect<void>
}

/**
 * Claims deliveries that are due and passes them to `send`: at once for webhooks for which this process wrote
 * deliveries, and every 250 ms for all webhooks. The latter finds retries, and what other nodes wrote or released. A node
 * that is alone waits until something is due instead, when it has nothing in flight and has queued no delivery for 10
 * seconds: it looks once for itself, and then leaves that to DueCheck. Never claims more than there is room for. While the
 * database is unreachable it keeps trying.
 */
export const makeClaimLoop = (
  inFlight: InFlight,
  outcomes: OutcomeRecorder,
  send: (claimed: ReadonlyArray<ClaimedDelivery>) => Effect.Effect<void>
): Effect.Effect<ClaimLoop, never, DueCheck | NodeLease | QueueRepo | RetrySchedule | Scope.Scope> =>
  Effect.gen(function* () {
    const lease = yield* NodeLease
    const queue = yield* QueueRepo
    const schedule = yield* RetrySchedule
    const clock = yield* Effect.clock

    const pending = new PendingDeliveries(() => clock.unsafeCurrentTimeMillis())
    /** Open: pending deliveries or room for them may have changed since the last check. */
    const changed = Effect.unsafeMakeLatch()
    /** Open: this process queued deliveries, or DueCheck found some, since the last claim for all webhooks. */
    const mayFind = Effect.unsafeMakeLatch()
    let activeUntil = Number.NEGATIVE_INFINITY
    const claiming = yield* Effect.makeSemaphore(1)
    /** Whether DueCheck looks for this node. */
    let isWaiting = false
    /** DueCheck has found something since the last claim for all webhooks. */
    let isDue = false
    const due = yield* (yield* DueCheck).register("webhooks.deliveries", (now) => queue.untilDueIf(isWaiting, now))
    const onDue = Effect.sync(() => {
      isDue = true
      mayFind.unsafeOpen()
    })
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(due, onDue)))
    let recoverAt = Number.NEGATIVE_INFINITY

    /** Claims for these webhooks, or for all. False when the node has no room. */
    const claim = (node: string, webhooks?: ReadonlyMap<number, number>) =>
      claiming.withPermits(1)(
        Effect.gen(function* () {
          const now = clock.unsafeCurrentTimeMillis()
          const { room, roomPerOther } = inFlight
          if (room <= 0) return false
          // Also after the clock was set back.
          const isTimeToRecover = now >= recoverAt || now < recoverAt - recoverIntervalMs
          const recovers = webhooks === undefined && isTimeToRecover
          if (recovers) recoverAt = now + recoverIntervalMs
          const claimed = yield* withStatementTimeout(
            queue.claim({
              node,
              now: new Date(now),
              room,
              roomPerOther,
              roomByWebhook: webhooks ?? inFlight.roomByWebhook,
              webhooks: webhooks && new Map(Array.from(webhooks.keys(), (id) => [id, pending.lowestIdOf(id)])),
              firstAttemptsBefore: schedule.firstMs > 0 ? new Date(now - schedule.firstMs) : undefined,
              isOnlyNode: (yield* lease.others) === 0,
              held: recovers ? [...inFlight.ids, ...outcomes.ids()] : undefined
            })
          )
          const found = new Map(Array.from(webhooks?.keys() ?? [], (id) => [id, { count: 0, newest: 0 }]))
          for (const { attempts, id, webhook_id } of claimed) {
            if (attempts === 0) found.set(webhook_id, { count: (found.get(webhook_id)?.count ?? 0) + 1, newest: id })
          }
          for (const [webhook, { count, newest }] of found) {
            pending.found(webhook, count, newest, Math.min(room, webhooks?.get(webhook) ?? inFlight.roomOf(webhook)))
          }
          yield* send(claimed)
          return true
        })
      )

    const roomOf = (webhookId: number) => inFlight.roomOf(webhookId)
    /** Claims for the webhooks known to have pending deliveries; waits when none is due or has room. */
    const claimPending = (node: string) =>
      Effect.gen(function* () {
        // Closed before the check, so that a change during the check causes another one.
        changed.unsafeClose()
        const due = pending.due(roomOf)
        if (due.size > 0)
          return (yield* claim(node, due)) ? yield* Effect.yieldNow() : yield* Effect.sleep(noRoomDelayMs)
        if (pending.isEmpty) return yield* changed.await
        yield* Effect.raceFirst(changed.await, Effect.sleep(Math.min(pending.waitMs(roomOf), claimAllIntervalMs)))
      })

    const markActive = () => {
      activeUntil = clock.unsafeCurrentTimeMillis() + activeMs
      mayFind.unsafeOpen()
    }
    /** Only this node could have made anything due, and it has not lately. */
    const isQuiet = Effect.map(
      lease.others,
      (others) =>
        others === 0 && inFlight.size === 0 && outcomes.isEmpty() && clock.unsafeCurrentTimeMillis() >= activeUntil
    )
    /** Milliseconds until something is due; infinite when it has looked since it last claimed, and DueCheck does from then on. */
    const look = Effect.suspend(() =>
      isWaiting
        ? Effect.succeed(Number.POSITIVE_INFINITY)
        : withStatementTimeout(queue.untilDue(new Date(clock.unsafeCurrentTimeMillis())))
    )
    const claimAll = Effect.fnUntraced(function* (node: string) {
      // Closed before the look, so that what is queued or found during it ends the wait.
      mayFind.unsafeClose()
      if (!isDue && (yield* isQuiet)) {
        const wait = yield* look
        isWaiting = true
        if (wait > 0) yield* Effect.raceFirst(mayFind.await, Effect.sleep(Math.min(wait, quietIntervalMs)))
        if (wait > quietIntervalMs) return
      }
      isDue = false
      isWaiting = false
      yield* claim(node)
      yield* Effect.sleep(claimAllIntervalMs)
    })

    const forever = <E>(work: Effect.Effect<unknown, E>) =>
      Effect.forever(
        Effect.catchAllCause(work, (cause) => {
          if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
          // The claim may have been committed although its result was lost.
          recoverAt = Number.NEGATIVE_INFINITY
          return Effect.zipRight(
            Effect.logWarning("Webhook deliveries could not be claimed; trying again", cause),
            Effect.sleep(databaseRetryDelay)
          )
        })
      )

    return {
      queued: markActive,
      announce: (created, isCommitted) => {
        markActive()
        // A first attempt that is not due at once is left to the claim for all webhooks.
        if (schedule.firstMs > 0) return
        pending.add(created, isCommitted)
        changed.unsafeOpen()
      },
      wake: () => void changed.unsafeOpen(),
      run: (node) =>
        Effect.all([forever(claimPending(node)), forever(claimAll(node))], {
          concurrency: "unbounded",
          discard: true
        }).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              pending.clear()
              isWaiting = false
            })
          )
        )
    }
  })
