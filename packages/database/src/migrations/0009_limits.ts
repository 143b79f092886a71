import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * What nodes tell each other of requests and of failed authentications. Each node writes rows of its own, with its whole
 * count, so a write that is repeated changes nothing. See RateLimits and AuthFailures of the auth package.
 *
 * Counts of a minute are worth nothing after it: they need not survive a crash of the database. Failures do.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create unlogged table request_counts (
      minute integer not null,
      bucket text not null,
      node text not null,
      requests integer not null,
      primary key (minute, bucket, node)
    )`
  yield* sql`
    create table auth_failures (
      address text not null,
      node text not null,
      failures integer not null,
      expires_at timestamptz not null,
      changed_at timestamptz not null default now(),
      primary key (address, node)
    )`
  yield* sql`create index auth_failures_changed_at on auth_failures (changed_at)`
  yield* sql`create index auth_failures_expires_at on auth_failures (expires_at)`
})
