import { SqlClient } from "@effect/sql"
import { inSteps } from "@svc/api/Thread"
import { Facts, Input } from "@svc/conversation/Input"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Either, Layer, type ParseResult, Schema } from "effect"

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
      return {
        insert: (rows) =>
          rows.length === 0
            ? Effect.void
            : sql`
                insert into call_journal (call_id, seq, input, commands)
                select * from unnest(
                  ${rows.map((r) => r.call_id)}::bigint[],
                  ${rows.map((r) => r.seq)}::int[],
                  ${rows.map((r) => jsonbText(r.input))}::jsonb[],
                  ${rows.map((r) => r.commands)}::text[])
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
