import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Links with which people call an agent from a web page. See docs/browser.md. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table call_links (
      id bigint generated always as identity primary key,
      token_hash bytea not null unique,
      org_id bigint not null,
      project_id bigint not null,
      agent_id bigint not null,
      from_number text,
      metadata jsonb not null,
      max_calls int not null check (max_calls > 0),
      -- Calls that have started.
      calls int not null default 0 check (calls between 0 and max_calls),
      expires_at timestamptz not null,
      created_at timestamptz not null default now()
    )`
  yield* sql`create index on call_links (agent_id)`
  yield* sql`create index on call_links (project_id)`
  yield* sql`create index on call_links (expires_at)`
})
