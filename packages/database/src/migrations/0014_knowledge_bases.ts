import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Knowledge bases of a project, without their content. Agents link to them by id. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table knowledge_bases (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      org_id bigint not null references organizations (id),
      project_id bigint not null references projects (id),
      name text not null,
      description text,
      source_type text not null check (source_type in ('text', 'url', 'qa')),
      source_url text,
      entry_count integer not null default 0,
      status text not null default 'ready' check (status in ('ready', 'refreshing', 'failed')),
      auto_refresh_hours integer,
      last_refreshed_at timestamptz,
      last_error text,
      consecutive_failures integer not null default 0,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`
  yield* sql`create index knowledge_bases_project on knowledge_bases (project_id, id desc)`
  yield* sql`
    create trigger knowledge_bases_live_project before insert on knowledge_bases
    for each row execute function require_live_project()`
})
