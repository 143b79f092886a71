import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Test sessions and their journals. `node_id` is the lease of the node that works on a message; null: the session waits
 * for the next one, which any node may take. See the call-engine package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table test_sessions (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      org_id bigint not null,
      project_id bigint not null,
      agent_id bigint not null,
      agent_public_id text not null,
      from_number text,
      to_number text,
      metadata jsonb not null default '{}',
      messages jsonb not null default '[]',
      node_id text,
      created_at timestamptz not null,
      active_at timestamptz not null default now(),
      ended_at timestamptz,
      ended_reason text
    )`
  yield* sql`create index test_sessions_active on test_sessions (project_id) where ended_at is null`
  yield* sql`create index test_sessions_node on test_sessions (node_id) where node_id is not null`
  yield* sql`create index test_sessions_ended_at on test_sessions (ended_at)`
  yield* sql`
    create table test_session_journal (
      session_id bigint not null references test_sessions on delete cascade,
      seq int not null,
      input jsonb not null,
      commands text not null,
      primary key (session_id, seq)
    )`
})
