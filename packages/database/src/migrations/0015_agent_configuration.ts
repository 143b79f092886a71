import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The other parts of an agent: knowledge bases, audit log, whether it has a webhook (a row of the webhooks package), the
 * folded name for searches, and an index for the list of a project. `api_key_id` of the log is no foreign key, because
 * the log outlives keys.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create extension if not exists pg_trgm`
  yield* sql`create extension if not exists btree_gin`
  // Avoids queries for agents that have none.
  yield* sql`
    alter table agents
      add column has_webhook boolean not null default false,
      add column has_knowledge_bases boolean not null default false`

  // Folded in JavaScript: depending on the locale of the database, `lower` folds only ASCII.
  yield* sql`alter table agents add column name_folded text`
  const agents = yield* sql<{ readonly id: number; readonly name: string }>`select id, name from agents`
  yield* sql`
    update agents set name_folded = folded.name
    from unnest(
      ${agents.map(({ id }) => id)}::bigint[],
      ${agents.map(({ name }) => name.normalize("NFC").toLowerCase())}::text[]
    ) as folded (id, name) where agents.id = folded.id`
  yield* sql`alter table agents alter column name_folded set not null`
  yield* sql`
    create index agents_name on agents using gin (project_id, name_folded gin_trgm_ops) where deleted_at is null`

  // On -id, because for an order by id the planner may take the primary key, and search the newest agents of a project
  // among those of all projects.
  yield* sql`drop index agents_project`
  yield* sql`create index agents_project on agents (project_id, (-id)) where deleted_at is null`

  yield* sql`
    create table agent_knowledge_bases (
      agent_id bigint not null references agents (id),
      knowledge_base_id bigint not null references knowledge_bases (id) on delete cascade,
      primary key (agent_id, knowledge_base_id)
    )`
  yield* sql`create index agent_knowledge_bases_base on agent_knowledge_bases (knowledge_base_id)`

  yield* sql`
    create table agent_audit_log (
      id bigint generated always as identity primary key,
      agent_id bigint not null references agents (id),
      api_key_id bigint not null,
      action text not null check (action in ('created', 'updated', 'deleted', 'cloned', 'webhook_secret_rotated')),
      changed_fields text[] not null,
      old_values jsonb not null,
      new_values jsonb not null,
      created_at timestamptz not null default now()
    )`
  yield* sql`create index agent_audit_log_agent on agent_audit_log (agent_id, id desc)`
})
