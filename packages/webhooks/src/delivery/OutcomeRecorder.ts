import { Effect, Option, Schedule } from "effect"
import { DeliveriesRepo } from "../DeliveriesRepo.ts"
import { countOutcome } from "./DeliveryMetrics.ts"
import { FailingWebhooks } from "./FailureStreaks.ts"
import { type Outcome, QueueRepo, withStatementTimeout } from "./QueueRepo.ts"
import { RetrySchedule } from "./RetrySchedule.ts"

/** Outcomes recorded by one statement. */
const batchSize = 500
/** How long outcomes collect before they are recorded, in milliseconds. */
const collectMs = 20
const databaseRetries = Schedule.union(Schedule.exponential("50 millis"), Schedule.spaced("2 seconds"))

/** Outcomes of this node's deliveries that are not in the database yet. */
export interface OutcomeRecorder {
  readonly add: (outcome: Outcome) => void
  /** Whether this delivery has an outcome that is not recorded yet. */
  readonly has: (deliveryId: number) => boolean
  /** The deliveries of all outcomes that are not recorded yet. */
  readonly ids: () => Iterable<number>
  readonly isEmpty: () => boolean
  /** A success of this webhook has to end its failure streak. */
  readonly markFailing: (webhookId: number) => void
  /** Records outcomes until interrupted. */
  readonly run: Effect.Effect<never>
}

/**
 * Records outcomes in batches: ends deliveries, schedules their retries or makes them dead letters, updates the failure
 * streaks of webhooks, and moves the pending deliveries of those that are disabled to their dead letters. While the
 * database is unreachable it keeps the outcomes and tries again.
 */
export const makeOutcomeRecorder: Effect.Effect<OutcomeRecorder, never, QueueRepo | DeliveriesRepo | RetrySchedule> =
  Effect.gen(function* () {
    const queue = yield* QueueRepo
    const deliveries = yield* DeliveriesRepo
    const schedule = yield* RetrySchedule
    const clock = yield* Effect.clock

    const waiting: Array<Outcome> = []
    const hasWaiting = Effect.unsafeMakeLatch()
    let isRecording = false
    const unrecorded = new Set<number>()
    const failing = new FailingWebhooks()

    /** The time of the attempt after a failed one; null when that was the last. */
    const nextAttempt = ({ delivery }: Outcome) =>
      Effect.map(schedule.afterMs(delivery.attempts + 1), (wait) =>
        Option.getOrNull(Option.map(wait, (ms) => new Date(clock.unsafeCurrentTimeMillis() + ms)))
      )

    /** Retries defects too: a connection that breaks at the end of a transaction is one in @effect/sql. */
    const retryUntilDone = <A, E>(statement: Effect.Effect<A, E>, subject: string): Effect.Effect<A> =>
      withStatementTimeout(statement).pipe(
        Effect.sandbox,
        Effect.tapErrorCause((cause) => Effect.logWarning(`${subject} could not be written; trying again`, cause)),
        Effect.retry({ schedule: databaseRetries }),
        Effect.orDie
      )

    /** Tests and resends do not count for the failure streak. */
    const countsForStreak = ({ at, delivery }: Outcome) => at !== null && !delivery.is_resend

    const recordBatch = Effect.gen(function* () {
      const batch = waiting.splice(0, batchSize)
      if (waiting.length === 0) hasWaiting.unsafeClose()
      isRecording = true
      const outcomes: Array<Outcome> = []
      for (const outcome of batch) {
        const isFailedAttempt = outcome.at !== null && outcome.error !== null
        outcomes.push(isFailedAttempt ? { ...outcome, next_at: yield* nextAttempt(outcome) } : outcome)
      }
      yield* retryUntilDone(queue.recordOutcomes(outcomes), "Outcomes of deliveries")
      for (const { delivery } of batch) unrecorded.delete(delivery.id)
      for (const outcome of outcomes) countOutcome(outcome)
      const streaks = failing.changedBy(batch.filter(countsForStreak))
      const disabled =
        streaks.length === 0 ? [] : yield* retryUntilDone(queue.recordStreaks(streaks), "Failures of webhooks")
      for (const id of disabled) {
        yield* retryUntilDone(deliveries.deadLetterPending(id, "disabled"), "Dead letters")
        yield* Effect.logWarning(`Webhook ${id} is disabled after failures`)
      }
      isRecording = false
    })

    return {
      add: (outcome) => {
        waiting.push(outcome)
        unrecorded.add(outcome.delivery.id)
        hasWaiting.unsafeOpen()
      },
      has: (id) => unrecorded.has(id),
      ids: () => unrecorded,
      isEmpty: () => waiting.length === 0 && !isRecording,
      markFailing: (webhookId) => failing.add(webhookId),
      run: Effect.forever(hasWaiting.await.pipe(Effect.zipRight(Effect.sleep(collectMs)), Effect.zipRight(recordBatch)))
    }
  })
