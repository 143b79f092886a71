import { SqlClient, type SqlError } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"

/** A bucket with a number of requests. */
export type BucketCount = readonly [bucket: string, requests: number]

const Counts = Schema.Array(Schema.Struct({ bucket: Schema.String, requests: Schema.Number }))

/**
 * Table `request_counts`: how many requests each node let through in a minute. A node whose database is away goes on
 * with its own count, so unlike elsewhere the errors of SQL are handed to the caller.
 */
export class RateLimitsRepo extends Context.Tag("@svc/auth/RateLimitsRepo")<
  RateLimitsRepo,
  {
    /**
     * Tells the others this node's counts of a minute (Unix minutes) and gives what all others together have told of
     * `buckets`; one that none of them has is left out. One statement; counts are whole, so repeating it does no harm.
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
            with told as (
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
