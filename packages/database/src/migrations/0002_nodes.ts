import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Leases of nodes. See NodeLease of the cluster package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table nodes (
      id text primary key,
      address text,
      started_at timestamptz not null default now(),
      expires_at timestamptz not null,
      dead_at timestamptz,
      settled text[] not null default array[]::text[]
    )`
  yield* sql`create index nodes_expires_at on nodes (expires_at)`
})
