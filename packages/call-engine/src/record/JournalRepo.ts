import { SqlClient } from "@effect/sql"
import { inSteps } from "@svc/api/Thread"
import { Facts, Input } from "@svc/conversation/Input"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Either, Layer, Option, type ParseResult, Schema } from "effect"

/** One row of a call's journal: an input, and a digest of the commands that `step` returned for it. */
export interface JournalRow {
  /** The call's numeric id. */
  readonly call_id: number
  /** From 0, without gaps; row 0 holds the call's facts. */
  readonly seq: number
  readonly input: Facts | Input
  readonly commands: string
}

/** A row as it is read. */
export const StoredInput = Schema.Struct({
  seq: Schema.Int,
  input: Schema.Union(Facts, Input),
  commands: Schema.String
})
export type StoredInput = typeof StoredInput.Type

/** A call's journal as it is stored. Its inputs are not decoded: another version may have written them. */
export interface StoredJournal {
  /** The call's public id. */
  readonly call_id: string
  /** Whether the call is over; rows of a live call may still be added. */
  readonly ended: boolean
  /** Like {@link StoredInput}, in the order of `seq`; none when the call was refused before it had a conversation. */
  readonly rows: ReadonlyArray<{ readonly seq: number; readonly input: unknown; readonly commands: string }>
}

const decodeRow = Schema.decodeUnknownEither(StoredInput)

/** Decodes row by row: the journal of a long call is large. */
function* decodeEach(
  rows: ReadonlyArray<unknown>
): Generator<void, Either.Either<ReadonlyArray<StoredInput>, ParseResult.ParseError>> {
  const decoded: Array<StoredInput> = []
  for (const row of rows) {
    const one = decodeRow(row)
    if (Either.isLeft(one)) return Either.left(one.left)
    decoded.push(one.right)
    yield
  }
  return Either.right(decoded)
}

/** Decodes rows of a journal in steps. */
export const decodeRows = (
  rows: ReadonlyArray<unknown>
): Effect.Effect<ReadonlyArray<StoredInput>, ParseResult.ParseError> => Effect.flatten(inSteps(() => decodeEach(rows)))

/** SQL of `call_journal`. */
export class JournalRepo extends Context.Tag("@svc/call-engine/JournalRepo")<
  JournalRepo,
  {
    /** Does not change rows that exist already. */
    readonly insert: (rows: ReadonlyArray<JournalRow>) => Effect.Effect<void>
    readonly has: (row: Pick<JournalRow, "call_id" | "seq">) => Effect.Effect<boolean>
    /** The journal of a call, in order. `callId` is the numeric id. */
    readonly ofCall: (callId: number) => Effect.Effect<ReadonlyArray<StoredInput>>
    /** The first `limit` rows of a call after this `seq`, in order. */
    readonly page: (callId: number, after: number, limit: number) => Effect.Effect<ReadonlyArray<StoredInput>>
    /** The journal of a call of any project, by the call's public or numeric id. */
    readonly stored: (id: string) => Effect.Effect<Option.Option<StoredJournal>>
  }
>() {
  static readonly layer: Layer.Layer<JournalRepo, never, SqlClient.SqlClient> = Layer.effect(
    JournalRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ofCall = Effect.fn("JournalRepo.ofCall")(function* (callId: number) {
        const rows = yield* sql`select seq, input, commands from call_journal where call_id = ${callId} order by seq`
        return yield* decodeRows(rows)
      })
      const page = Effect.fn("JournalRepo.page")(function* (callId: number, after: number, limit: number) {
        const rows = yield* sql`
          select seq, input, commands from call_journal where call_id = ${callId} and seq > ${after}
          order by seq limit ${limit}`
        return yield* decodeRows(rows)
      })
      const stored = Effect.fn("JournalRepo.stored")(function* (id: string) {
        const numeric = /^[0-9]{1,15}$/.test(id) ? Number(id) : null
        const [call] = yield* sql<{ readonly id: number; readonly call_id: string; readonly ended: boolean }>`
          select id, public_id as call_id, ended_at is not null as ended from calls
          where public_id = ${id} or id = ${numeric}::bigint`
        if (call === undefined) return Option.none()
        const rows = yield* sql<StoredJournal["rows"][number]>`
          select seq, input, commands from call_journal where call_id = ${call.id} order by seq`
        return Option.some({ call_id: call.call_id, ended: call.ended, rows })
      })
      return {
        stored: (id) => Effect.orDie(stored(id)),
        insert: (rows) =>
          rows.length === 0
            ? Effect.void
            : sql`
                insert into call_journal (call_id, seq, input, commands)
                select call_id, seq, input, commands
                from jsonb_to_recordset(${jsonbText(rows)}::jsonb)
                  as row (call_id bigint, seq int, input jsonb, commands text)
                on conflict do nothing`.pipe(Effect.asVoid, Effect.orDie),
        has: ({ call_id, seq }) =>
          sql`select 1 from call_journal where call_id = ${call_id} and seq = ${seq}`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          ),
        ofCall: (callId) => Effect.orDie(ofCall(callId)),
        page: (call, after, limit) => Effect.orDie(page(call, after, limit))
      }
    })
  )
}
