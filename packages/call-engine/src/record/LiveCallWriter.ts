import type { SqlClient } from "@effect/sql"
import type { EventDraft } from "@svc/api/events/Event"
import { withoutServices } from "@svc/api/WithoutServices"
import type { Outbox } from "@svc/database/Outbox"
import { Context, Deferred, Effect, FiberId, Layer } from "effect"
import type { AnsweredCall, CallsRepo } from "./CallsRepo.ts"
import type { JournalRepo, JournalRow } from "./JournalRepo.ts"
import { batchStore, emptyBatch, type LiveCallBatch, sizeOf } from "./LiveCallBatch.ts"
import type { ServerRequestRow, ServerRequestsRepo } from "./ServerRequestsRepo.ts"

/** The journal of live calls. */
export interface Journal {
  /** Synchronous: the media path must not wait. `urgent`: a turn is complete. */
  readonly append: (row: JournalRow, urgent: boolean) => void
  /** Completes when everything given to the writer so far is stored, not only journal rows. */
  readonly flush: Effect.Effect<void>
}

/** The events of live calls. */
export interface CallEvents {
  readonly emit: (event: EventDraft) => void
}

/**
 * Writes what live calls produce. One writer serves all calls of the process with one transaction per flush, at most
 * {@link idleMs} behind, {@link urgentMs} after a turn; on a busy process, where a batch takes longer, up to
 * {@link longestPauseMs}, also for a flush. With one for each {@link maxBatch} when there is much, because preparing a
 * statement holds the thread that paces the calls. While the database is unavailable, everything is kept and
 * written in order afterwards. Nothing is written for a call that another node has settled.
 */
export class LiveCallWriter extends Context.Tag("@svc/call-engine/LiveCallWriter")<
  LiveCallWriter,
  {
    readonly journal: Journal
    readonly events: CallEvents
    readonly answered: { readonly mark: (call: AnsweredCall) => void }
    /** For the debug page; also requests that complete after their call. */
    readonly serverRequests: { readonly add: (row: ServerRequestRow) => void }
  }
>() {
  static readonly layer: Layer.Layer<
    LiveCallWriter,
    never,
    SqlClient.SqlClient | Outbox | CallsRepo | JournalRepo | ServerRequestsRepo
  > = Layer.scoped(
    LiveCallWriter,
    Effect.gen(function* () {
      const store = yield* batchStore
      const clock = yield* Effect.clock
      const work = Effect.unsafeMakeLatch()
      const urgent = Effect.unsafeMakeLatch()
      /** In order; the last one is being filled. */
      let batches = [emptyBatch()]
      let size = 0
      let waiters: Array<Deferred.Deferred<void>> = []
      let isUrgent = false
      /** How long the last batch took, in milliseconds. */
      let lastMs = 0

      const storeBatch = Effect.gen(function* () {
        const taken = batches
        const takenWaiters = waiters
        batches = [emptyBatch()]
        size = 0
        waiters = []
        work.unsafeClose()
        urgent.unsafeClose()
        isUrgent = false
        const from = clock.unsafeCurrentTimeMillis()
        for (const batch of taken) yield* store(batch)
        lastMs = clock.unsafeCurrentTimeMillis() - from
        for (const waiter of takenWaiters) yield* Deferred.succeed(waiter, undefined)
      })
      const add = (entry: unknown, to: (batch: LiveCallBatch) => void): void => {
        const entrySize = sizeOf(entry)
        if (size > 0 && size + entrySize > maxBatch) {
          batches.push(emptyBatch())
          size = 0
        }
        size += entrySize
        const last = batches.at(-1)
        if (last !== undefined) to(last)
        work.unsafeOpen()
      }
      const hurry = () => {
        isUrgent = true
        urgent.unsafeOpen()
      }
      const pause = Effect.suspend(() => Effect.sleep(Math.min(longestPauseMs, Math.max(urgentMs, lastMs))))
      const due = Effect.suspend(() =>
        isUrgent ? pause : Effect.raceFirst(Effect.sleep(idleMs), Effect.zipRight(urgent.await, pause))
      )
      const loop = Effect.forever(work.await.pipe(Effect.zipRight(due), Effect.zipRight(storeBatch)))
      const flush = Effect.suspend(() => {
        const stored = Deferred.unsafeMake<void>(FiberId.none)
        waiters.push(stored)
        work.unsafeOpen()
        hurry()
        return Deferred.await(stored)
      })
      yield* Effect.forkScoped(withoutServices(loop))
      // The last batch is written before the database stops; an unavailable database does not delay the shutdown.
      yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(flush), "5 seconds"))

      return {
        journal: {
          append: (row, urgent) => {
            add(row, ({ rows }) => rows.push(row))
            if (urgent) hurry()
          },
          flush
        },
        events: {
          emit: (event) => {
            add(event, ({ events }) => events.push(event))
          }
        },
        answered: {
          mark: (call) => {
            add(call, ({ answered }) => answered.push(call))
            hurry()
          }
        },
        serverRequests: {
          add: (row) => {
            add(row, ({ serverRequests }) => serverRequests.push(row))
          }
        }
      }
    })
  )
}

/** The size of a transaction in characters, unless a single entry is larger. */
const maxBatch = 128 * 1024

/** How far the writer may be behind, and how soon a finished turn is written. */
const idleMs = 200
const urgentMs = 10
/** After a batch the writer pauses as long as it took, so that a busy process writes fewer and larger ones; at most this. */
const longestPauseMs = 100
