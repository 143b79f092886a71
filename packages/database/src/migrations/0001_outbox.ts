import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Events, written in the transaction of the change that they report. See Outbox. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table events (
      seq bigint generated always as identity primary key,
      id text not null unique,
      event text not null,
      api_version text not null,
      org_id bigint not null,
      project_id bigint,
      agent_id text,
      call_id text,
      data jsonb not null,
      created_at timestamptz not null
    )`
  yield* sql`create index events_call on events (call_id, seq) where call_id is not null`
  yield* sql`create index events_org on events (org_id, seq)`
  yield* sql`create index events_created_at on events (created_at)`
})
