import { SqlClient, type SqlError } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"

/** A bucket and its number of requests. */
export type BucketCount = readonly [bucket: string, requests: number]

const Counts = Schema.Array(Schema.Struct({ bucket: Schema.String, requests: Schema.Number }))

/**
 * Table `request_counts`: requests admitted by each node in each minute. A node continues with its own counts while the
 * database is unreachable, so unlike in other repositories SQL errors are returned to the caller.
 */
export class RateLimitsRepo extends Context.Tag("@svc/auth/RateLimitsRepo")<
  RateLimitsRepo,
  {
    /**
     * Writes this node's counts of a minute (Unix minutes) and returns the sums of all other nodes for `buckets`, without
     * those that no other node has. One statement, idempotent since counts are totals.
     */
    readonly exchange: (options: {
      readonly node: string
      readonly minute: number
      readonly counts: ReadonlyArray<BucketCount>
      readonly buckets: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<BucketCount>, SqlError.SqlError>
    /** Removes the counts of all nodes before a minute. */
    readonly removeBefore: (minute: number) => Effect.Effect<void, SqlError.SqlError>
  }
>() {
  static readonly layer: Layer.Layer<RateLimitsRepo, never, SqlClient.SqlClient> = Layer.effect(
    RateLimitsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const decode = Schema.decodeUnknown(Counts)
      return {
        exchange: ({ buckets, counts, minute, node }) =>
          sql`
            with written as (
              insert into request_counts as c (minute, bucket, node, requests)
              select ${minute}::integer, t.bucket, ${node}, t.requests
              from unnest(${counts.map(([bucket]) => bucket)}::text[], ${counts.map(([, requests]) => requests)}::integer[])
                as t (bucket, requests)
              on conflict (minute, bucket, node) do update set requests = greatest(c.requests, excluded.requests)
            )
            select bucket, sum(requests) as requests from request_counts
            where minute = ${minute} and bucket = any(${buckets}::text[]) and node <> ${node}
            group by bucket`.pipe(
            Effect.flatMap((rows) => Effect.orDie(decode(rows))),
            Effect.map((rows) => rows.map(({ bucket, requests }): BucketCount => [bucket, requests]))
          ),
        removeBefore: (minute) => Effect.asVoid(sql`delete from request_counts where minute < ${minute}`)
      }
    })
  )
}
