import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Calls and their journals. See the call-engine package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table calls (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      org_id bigint not null,
      project_id bigint not null,
      agent_id bigint,
      agent_public_id text,
      node_id text,
      telephony text not null,
      from_number text,
      to_number text,
      status text not null,
      disposition text,
      ended_reason text,
      started_at timestamptz not null,
      answered_at timestamptz,
      ended_at timestamptz,
      duration_seconds integer not null default 0,
      minutes_used numeric(12, 4) not null default 0,
      rate_per_minute numeric(12, 4) not null default 0,
      call_cost numeric(12, 4) not null default 0,
      recording_cost numeric(12, 4) not null default 0,
      transfer_cost numeric(12, 4) not null default 0,
      llm_discount numeric(12, 4) not null default 0,
      total_cost numeric(12, 4) not null default 0,
      transfer_duration_seconds integer not null default 0,
      transferred_to text,
      has_recording boolean not null default false,
      recording_enabled boolean not null default false,
      turn_count integer not null default 0,
      tool_call_count integer not null default 0,
      tools_called text[] not null default '{}',
      metadata jsonb not null default '{}',
      ws_unavailable boolean not null default false,
      extracted_data jsonb not null default '{}',
      transcript jsonb not null default '[]',
      latency_turns jsonb not null default '[]'
    )`
  yield* sql`create index calls_project on calls (project_id, id desc)`
  yield* sql`create index calls_agent on calls (agent_id, id desc)`
  yield* sql`create index calls_live on calls (node_id) where ended_at is null`
  yield* sql`
    create table call_journal (
      call_id bigint not null references calls on delete cascade,
      seq integer not null,
      input jsonb not null,
      commands text not null,
      primary key (call_id, seq)
    )`
})
