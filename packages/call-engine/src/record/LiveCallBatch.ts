import { SqlClient, SqlError } from "@effect/sql"
import type { EventDraft } from "@svc/api/events/Event"
import { Outbox } from "@svc/database/Outbox"
import { Cause, Data, Effect, Schedule } from "effect"
import { type AnsweredCall, CallsRepo } from "./CallsRepo.ts"
import { JournalRepo, type JournalRow } from "./JournalRepo.ts"
import { type ServerRequestRow, ServerRequestsRepo } from "./ServerRequestsRepo.ts"

/** What live calls produced since the last flush. */
export interface LiveCallBatch {
  readonly rows: Array<JournalRow>
  readonly events: Array<EventDraft>
  readonly answered: Array<AnsweredCall>
  readonly serverRequests: Array<ServerRequestRow>
}

export const emptyBatch = (): LiveCallBatch => ({ rows: [], events: [], answered: [], serverRequests: [] })

/** Levels of an entry that are counted: more than it has, unless it cannot be serialized. */
const maxLevels = 120

/** Approximate size of an entry in characters. */
export const sizeOf = (entry: unknown, level = 0): number => {
  if (typeof entry === "string") return entry.length
  if (typeof entry !== "object" || entry === null || level > maxLevels) return 8
  let size = 8
  for (const key in entry) size += key.length + sizeOf(Reflect.get(entry, key), level + 1)
  return size
}

const isEmpty = (batch: LiveCallBatch): boolean =>
  batch.rows.length + batch.events.length + batch.answered.length + batch.serverRequests.length === 0

/** Stores a batch in one transaction, and retries while the database is unavailable. */
export const batchStore: Effect.Effect<
  (batch: LiveCallBatch) => Effect.Effect<void>,
  never,
  SqlClient.SqlClient | Outbox | CallsRepo | JournalRepo | ServerRequestsRepo
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const calls = yield* CallsRepo
  const journal = yield* JournalRepo
  const serverRequests = yield* ServerRequestsRepo

  /** The batch without calls that have ended: another node considered this one dead and has settled them. */
  const fenced = Effect.fnUntraced(function* (batch: LiveCallBatch) {
    const ids = [...new Set([...batch.rows, ...batch.answered].map((one) => one.call_id))]
    const publicIds = [...new Set(batch.events.map((event) => event.call_id))]
    // Settling a dead node's calls updates the node's row first, so it is either committed or waits for this lock.
    yield* sql`
      select 1 from nodes where id in (
        select node_id from calls where id = any(${ids}::bigint[]) or public_id = any(${publicIds}::text[])
      ) order by id for share`
    const ended = yield* sql<{ readonly id: number; readonly public_id: string }>`
      select id, public_id from calls
      where (id = any(${ids}::bigint[]) or public_id = any(${publicIds}::text[])) and ended_at is not null`
    if (ended.length === 0) return batch
    const endedIds = new Set(ended.map((call) => call.id))
    const endedPublicIds = new Set<string | null>(ended.map((call) => call.public_id))
    return {
      rows: batch.rows.filter((row) => !endedIds.has(row.call_id)),
      answered: batch.answered.filter((call) => !endedIds.has(call.call_id)),
      events: batch.events.filter((event) => !endedPublicIds.has(event.call_id)),
      serverRequests: batch.serverRequests
    }
  })

  const insertAll = Effect.fnUntraced(function* (batch: LiveCallBatch) {
    const live = yield* fenced(batch)
    yield* journal.insert(live.rows)
    yield* serverRequests.insert(live.serverRequests)
    yield* Effect.forEach(live.answered, calls.markAnswered, { discard: true })
    yield* outbox.appendAll(live.events)
  })
  const storeOnce = (batch: LiveCallBatch): Effect.Effect<void, NotStored> =>
    Effect.catchAllCause(
      sql.withTransaction(insertAll(batch)),
      (cause) => new NotStored({ cause: Cause.squash(cause) })
    )

  /** Stores each entry in its own transaction, so that one that the database refuses does not block the others. */
  const storeEach = (batch: LiveCallBatch): Effect.Effect<void, NotStored> =>
    Effect.forEach(
      [
        ...batch.rows.map((row) => ({ ...emptyBatch(), rows: [row] })),
        ...batch.answered.map((call) => ({ ...emptyBatch(), answered: [call] })),
        ...batch.events.map((event) => ({ ...emptyBatch(), events: [event] })),
        ...batch.serverRequests.map((request) => ({ ...emptyBatch(), serverRequests: [request] }))
      ],
      (one) =>
        Effect.catchIf(storeOnce(one), isRefusal, ({ cause }) =>
          Effect.logError("The database refused an entry of a live call; it is left out", cause)
        ),
      { discard: true }
    )

  /** The part of a failed batch that is not stored: nothing when the commit succeeded and only its answer was lost. */
  const remaining = (batch: LiveCallBatch): Effect.Effect<LiveCallBatch, NotStored> => {
    const [first] = batch.rows
    return first === undefined
      ? Effect.succeed(batch)
      : journal.has(first).pipe(
          Effect.map((stored) => (stored ? emptyBatch() : batch)),
          Effect.catchAllDefect((cause) => new NotStored({ cause }))
        )
  }

  const store = (batch: LiveCallBatch) =>
    Effect.catchIf(storeOnce(batch), isRefusal, () => storeEach(batch)).pipe(
      Effect.tapError(({ cause }) => Effect.logWarning("The journal could not be written; trying again", cause))
    )
  const backoff = Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("5 seconds"))

  return (batch: LiveCallBatch): Effect.Effect<void> =>
    isEmpty(batch)
      ? Effect.void
      : Effect.catchAll(store(batch), () =>
          Effect.flatMap(remaining(batch), store).pipe(Effect.delay("100 millis"), Effect.retry(backoff), Effect.orDie)
        )
})

class NotStored extends Data.TaggedError("NotStored")<{ readonly cause: unknown }> {}

/**
 * Whether the data is at fault (SQLSTATE classes 22 and 23, or an error outside the database), so that a retry is
 * useless.
 */
const isRefusal = ({ cause }: NotStored): boolean => {
  if (!(cause instanceof SqlError.SqlError)) return true
  const inner = cause.cause
  return typeof inner === "object" && inner !== null && "code" in inner && /^2[23]/.test(String(inner.code))
}
