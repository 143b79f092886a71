import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Voice agents. See the agents package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table agents (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      org_id bigint not null references organizations (id),
      project_id bigint not null references projects (id),
      name text not null,
      language text not null,
      voice text not null,
      max_duration integer not null check (max_duration between 60 and 7200),
      recording boolean not null,
      end_call_enabled boolean not null,
      server_url text not null,
      server_secret text not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz
    )`
  yield* sql`create index agents_project on agents (project_id, id desc) where deleted_at is null`
})
