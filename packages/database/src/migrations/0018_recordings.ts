import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Recordings of calls, and the secrets that sign links to them. A row is inserted when the call's record is completed, and
 * is ready once its object is stored. See the call-engine package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table recordings (
      call_id bigint primary key references calls on delete cascade,
      org_id bigint not null,
      -- The node that still writes it, or null: the one that did has died.
      writer text,
      created_at timestamptz not null default now(),
      ready_at timestamptz
    )`
  yield* sql`create index recordings_pending on recordings (created_at) where ready_at is null`
  yield* sql`create index recordings_age on recordings (created_at) where ready_at is not null`
  yield* sql`create index recordings_org on recordings (org_id, created_at) where ready_at is not null`
  yield* sql`
    create table signing_secrets (
      purpose text primary key,
      secret text not null,
      created_at timestamptz not null default now()
    )`
})
