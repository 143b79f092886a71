import { SqlClient, type SqlError } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"

/** One node's count for one address. */
export interface CountedFailures {
  readonly address: string
  /** Of the whole window, not since the last write. */
  readonly failures: number
  /** End of the window, in ms. */
  readonly until: number
}

const Row = Schema.Struct({
  address: Schema.String,
  node: Schema.String,
  failures: Schema.Number,
  until: Schema.Number,
  changed_at: Schema.String
})
/** A row of another node. `changed_at` is the database's time as text, without loss of precision. */
export type ForeignFailures = typeof Row.Type

/**
 * Table `auth_failures`: failed authentications by address and node. A node continues with its own count while the
 * database is unreachable, so unlike in other repositories SQL errors are returned to the caller.
 */
export class AuthFailuresRepo extends Context.Tag("@svc/auth/AuthFailuresRepo")<
  AuthFailuresRepo,
  {
    /** Writes a node's counts in one statement. Idempotent, since they are totals. */
    readonly write: (node: string, counts: ReadonlyArray<CountedFailures>) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Rows of other nodes whose window runs at `now` (ms) and that changed after `since`, or shortly before: writes
     * that began earlier may become visible later. Newest first, at most `limit`. `-infinity` as `since`: all.
     */
    readonly ofOthers: (
      node: string,
      options: { readonly since: string; readonly now: number; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<ForeignFailures>, SqlError.SqlError>
    /** Removes rows of all nodes whose window ended before `time` (ms). */
    readonly removeBefore: (time: number) => Effect.Effect<void, SqlError.SqlError>
  }
>() {
  static readonly layer: Layer.Layer<AuthFailuresRepo, never, SqlClient.SqlClient> = Layer.effect(
    AuthFailuresRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const decode = Schema.decodeUnknown(Schema.Array(Row))
      return {
        write: (node, counts) =>
          Effect.asVoid(sql`
            insert into auth_failures as a (address, node, failures, expires_at)
            select t.address, ${node}, t.failures, to_timestamp(t.until / 1000.0)
            from unnest(
              ${counts.map(({ address }) => address)}::text[],
              ${counts.map(({ failures }) => failures)}::integer[],
              ${counts.map(({ until }) => until)}::bigint[]
            ) as t (address, failures, until)
            on conflict (address, node) do update
            set failures = excluded.failures, expires_at = excluded.expires_at, changed_at = now()`),
        ofOthers: (node, { limit, now, since }) =>
          sql`
            select address, node, failures, changed_at::text as changed_at,
              (extract(epoch from expires_at) * 1000)::bigint as until
            from auth_failures
            where node <> ${node} and expires_at > to_timestamp(${now}::bigint / 1000.0)
              and changed_at > ${since}::timestamptz - interval '5 seconds'
            order by changed_at desc limit ${limit}`.pipe(Effect.flatMap((rows) => Effect.orDie(decode(rows)))),
        removeBefore: (time) =>
          Effect.asVoid(sql`delete from auth_failures where expires_at < to_timestamp(${time}::bigint / 1000.0)`)
      }
    })
  )
}
