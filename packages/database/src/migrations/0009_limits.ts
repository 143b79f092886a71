import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Requests and failed authentications, as counted by each node. A node writes only its own rows, with its total, so a
 * repeated write changes nothing. See RateLimits and AuthFailures of the auth package.
 *
 * Request counts matter only for a minute, so their table is unlogged. Failures must survive a crash of the database.
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
