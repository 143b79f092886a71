import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Organizations, their projects, and API keys of all kinds. See the auth package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table organizations (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      name text not null,
      tier text not null check (tier in ('payg', 'starter', 'growth', 'scale', 'enterprise')),
      balance_eur numeric not null default 0,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`
  yield* sql`
    create table projects (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      org_id bigint not null references organizations (id),
      name text not null,
      description text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz
    )`
  yield* sql`create index projects_org on projects (org_id, id desc) where deleted_at is null`
  yield* sql`
    create table api_keys (
      id bigint generated always as identity primary key,
      kind text not null check (kind in ('org', 'project', 'workspace')),
      org_id bigint not null references organizations (id),
      project_id bigint references projects (id),
      name text not null,
      scope text check (scope in ('full', 'read')),
      scopes text[],
      key_hash bytea not null unique check (octet_length(key_hash) = 32),
      key_hint text not null,
      created_at timestamptz not null default now(),
      last_used_at timestamptz,
      expires_at timestamptz,
      revoked_at timestamptz,
      check ((kind = 'project') = (project_id is not null)),
      check ((kind = 'project') = (scope is not null)),
      check ((kind = 'workspace') = (scopes is not null))
    )`
  yield* sql`create index api_keys_org on api_keys (org_id, id desc)`
  yield* sql`create index api_keys_project on api_keys (project_id, id desc) where project_id is not null`
})
