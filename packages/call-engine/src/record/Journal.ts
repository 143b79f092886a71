import { SqlClient, SqlError } from "@effect/sql"
import type { EventDraft } from "@svc/api/events/Event"
import type { Facts, Input } from "@svc/conversation/Input"
import { jsonbText } from "@svc/database/Jsonb"
import { Outbox } from "@svc/database/Outbox"
import { Cause, Context, Data, Deferred, Effect, FiberId, Layer, Schedule } from "effect"
import type { CallbackExchange } from "../agent-server/CallbackExchange.ts"

/** One row of a call's journal: an input, and a digest of the commands that it gave. */
export interface JournalRow {
  /** The call's numeric id. */
  readonly call_id: number
  /** From 0, without gaps; row 0 holds the call's facts. */
  readonly seq: number
  readonly input: Facts | Input
  readonly commands: string
}

/** An exchange with the agent's server. `call_id` is the call's numeric id. */
export interface ExchangeRow extends CallbackExchange {
  readonly call_id: number
}

/** The call was answered; told again when its configuration comes after that. */
export interface AnsweredCall {
  readonly call_id: number
  readonly answered_at: Date
  readonly metadata: { readonly [key: string]: unknown }
  readonly recording_enabled: boolean
}

/**
 * Writes down what happens in the live calls: inputs, events, and that a call was answered. One writer serves all calls
 * of the process with a few statements per flush, at most {@link idleMs} behind, {@link urgentMs} after a turn. While
 * the database is away, everything is kept and written when it is back, in order.
 */
export class Journal extends Context.Tag("@svc/call-engine/Journal")<
  Journal,
  {
    /** Synchronous: the media path must not wait. `urgent`: a turn is complete. */
    readonly append: (row: JournalRow, urgent: boolean) => void
    readonly emit: (event: EventDraft) => void
    readonly answered: (call: AnsweredCall) => void
    /** For those who look into the call; also of one that is over. */
    readonly exchange: (row: ExchangeRow) => void
    /** Completes when everything appended so far is stored. */
    readonly flush: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Journal, never, SqlClient.SqlClient | Outbox> = Layer.scoped(
    Journal,
    Effect.gen(function* () {
      const write = yield* writer
      const work = Effect.unsafeMakeLatch()
      const urgent = Effect.unsafeMakeLatch()
      let batch = emptyBatch()

      const flush = Effect.gen(function* () {
        const taken = batch
        batch = emptyBatch()
        work.unsafeClose()
        urgent.unsafeClose()
        yield* write(taken)
        for (const waiter of taken.waiters) yield* Deferred.succeed(waiter, undefined)
      })
      const loop = Effect.forever(
        work.await.pipe(
          Effect.zipRight(
            Effect.raceFirst(Effect.sleep(idleMs), Effect.zipRight(urgent.await, Effect.sleep(urgentMs)))
          ),
          Effect.zipRight(flush)
        )
      )
      const flushed = Effect.suspend(() => {
        const done = Deferred.unsafeMake<void>(FiberId.none)
        batch.waiters.push(done)
        work.unsafeOpen()
        urgent.unsafeOpen()
        return Deferred.await(done)
      })
      yield* Effect.forkScoped(loop)
      // What came last is written before the database goes; a database that is away does not hold up the end.
      yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(flushed), "5 seconds"))

      return {
        append: (row, isUrgent) => {
          batch.rows.push(row)
          work.unsafeOpen()
          if (isUrgent) urgent.unsafeOpen()
        },
        emit: (event) => {
          batch.events.push(event)
          work.unsafeOpen()
        },
        answered: (call) => {
          batch.answered.push(call)
          work.unsafeOpen()
          urgent.unsafeOpen()
        },
        exchange: (row) => {
          batch.exchanges.push(row)
          work.unsafeOpen()
        },
        flush: flushed
      }
    })
  )
}

/** How far the journal may be behind, and how soon a finished turn is written. */
const idleMs = 200
const urgentMs = 10

interface Batch {
  readonly rows: Array<JournalRow>
  readonly events: Array<EventDraft>
  readonly answered: Array<AnsweredCall>
  readonly exchanges: Array<ExchangeRow>
  readonly waiters: Array<Deferred.Deferred<void>>
}

const emptyBatch = (): Batch => ({ rows: [], events: [], answered: [], exchanges: [], waiters: [] })

/** Stores a batch in one transaction, however long the database is away. */
const writer = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox

  const rows = (batch: Batch) =>
    batch.rows.length === 0
      ? Effect.void
      : sql`
          insert into call_journal (call_id, seq, input, commands)
          select * from unnest(
            ${batch.rows.map((r) => r.call_id)}::bigint[],
            ${batch.rows.map((r) => r.seq)}::int[],
            ${batch.rows.map((r) => jsonbText(r.input))}::jsonb[],
            ${batch.rows.map((r) => r.commands)}::text[])
          on conflict do nothing`
  const exchanges = (all: ReadonlyArray<ExchangeRow>) =>
    all.length === 0
      ? Effect.void
      : sql`
          insert into callback_exchanges (call_id, event, started_at, duration_ms, status, error, request, response)
          select * from unnest(
            ${all.map((e) => e.call_id)}::bigint[],
            ${all.map((e) => e.event)}::text[],
            ${all.map((e) => new Date(e.started_at))}::timestamptz[],
            ${all.map((e) => e.duration_ms)}::int[],
            ${all.map((e) => e.status)}::int[],
            ${all.map((e) => e.error)}::text[],
            ${all.map((e) => e.request)}::text[],
            ${all.map((e) => e.response)}::text[])`
  const answered = (call: AnsweredCall) => sql`
    update calls set status = 'in-progress', answered_at = ${call.answered_at}, metadata = ${jsonbText(call.metadata)}::jsonb,
      recording_enabled = ${call.recording_enabled}
    where id = ${call.call_id} and status in ('ringing', 'in-progress')`

  /** Without what is of calls that are over: another node, which took us for dead, has settled those. */
  const ofLiveCalls = (batch: Batch): Effect.Effect<Batch, SqlError.SqlError> =>
    Effect.gen(function* () {
      const calls = [...new Set([...batch.rows, ...batch.answered].map((one) => one.call_id))]
      const publicCalls = [...new Set(batch.events.map((event) => event.call_id))]
      // Who settles the calls of a dead node writes to its row first: so that is over, or waits until we have written.
      yield* sql`
        select 1 from nodes where id in (
          select node_id from calls where id = any(${calls}::bigint[]) or public_id = any(${publicCalls}::text[])
        ) order by id for share`
      const over = yield* sql<{ readonly id: number; readonly public_id: string }>`
        select id, public_id from calls
        where (id = any(${calls}::bigint[]) or public_id = any(${publicCalls}::text[])) and ended_at is not null`
      if (over.length === 0) return batch
      const ids = new Set(over.map((call) => call.id))
      const publicIds = new Set<string | null>(over.map((call) => call.public_id))
      return {
        ...emptyBatch(),
        rows: batch.rows.filter((row) => !ids.has(row.call_id)),
        answered: batch.answered.filter((call) => !ids.has(call.call_id)),
        events: batch.events.filter((event) => !publicIds.has(event.call_id))
      }
    })

  const store = (batch: Batch): Effect.Effect<void, Unwritten> =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const live = yield* ofLiveCalls(batch)
          yield* rows(live)
          yield* exchanges(batch.exchanges)
          yield* Effect.forEach(live.answered, answered, { discard: true })
          yield* outbox.appendAll(live.events)
        })
      )
      .pipe(Effect.catchAllCause((cause) => new Unwritten({ cause: Cause.squash(cause) })))

  /** A row that the database refuses must not hold up the others: then each is written by itself. */
  const storeEach = (batch: Batch): Effect.Effect<void, Unwritten> =>
    Effect.forEach(
      [
        ...batch.rows.map((row) => ({ ...emptyBatch(), rows: [row] })),
        ...batch.answered.map((call) => ({ ...emptyBatch(), answered: [call] })),
        ...batch.events.map((event) => ({ ...emptyBatch(), events: [event] })),
        ...batch.exchanges.map((exchange) => ({ ...emptyBatch(), exchanges: [exchange] }))
      ],
      (one) =>
        Effect.catchIf(store(one), isRefusal, ({ cause }) =>
          Effect.logError("A journal row was refused by the database and is left out", cause)
        ),
      { discard: true }
    )

  /** What is left of a batch whose writing failed: nothing when it was written after all and only the answer was lost. */
  const unwritten = (batch: Batch): Effect.Effect<Batch, Unwritten> => {
    const [first] = batch.rows
    return first === undefined
      ? Effect.succeed(batch)
      : sql`select 1 from call_journal where call_id = ${first.call_id} and seq = ${first.seq}`.pipe(
          Effect.map((found) => (found.length > 0 ? emptyBatch() : batch)),
          Effect.mapError((cause) => new Unwritten({ cause }))
        )
  }

  const write = (batch: Batch) =>
    Effect.catchIf(store(batch), isRefusal, () => storeEach(batch)).pipe(
      Effect.tapError(({ cause }) => Effect.logWarning("The journal could not be written; trying again", cause))
    )
  const patience = Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("5 seconds"))

  return (batch: Batch): Effect.Effect<void> =>
    batch.rows.length + batch.events.length + batch.answered.length + batch.exchanges.length === 0
      ? Effect.void
      : Effect.catchAll(write(batch), () =>
          Effect.flatMap(unwritten(batch), write).pipe(Effect.delay("100 millis"), Effect.retry(patience), Effect.orDie)
        )
})

class Unwritten extends Data.TaggedError("Unwritten")<{ readonly cause: unknown }> {}

/** Whether it is the data's fault (SQLSTATE classes 22 and 23, or no fault of the database), so that trying again is no use. */
const isRefusal = ({ cause }: Unwritten): boolean => {
  if (!(cause instanceof SqlError.SqlError)) return true
  const inner = cause.cause
  return typeof inner === "object" && inner !== null && "code" in inner && /^2[23]/.test(String(inner.code))
}
