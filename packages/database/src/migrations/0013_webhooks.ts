import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Webhooks of organizations, projects and agents. A row without `project_id` and `agent_id` belongs to the organization. An
 * agent and a project each have at most one row that they manage themselves. See the webhooks package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table webhooks (
      id bigint generated always as identity primary key,
      org_id bigint not null references organizations (id),
      project_id bigint references projects (id),
      agent_id bigint references agents (id),
      url text not null,
      events text[] not null check (cardinality(events) > 0),
      filters jsonb not null default '{}',
      secret text not null,
      is_active boolean not null default true,
      is_agent_managed boolean not null default false,
      is_project_managed boolean not null default false,
      failure_count integer not null default 0,
      consecutive_failures integer not null default 0,
      disabled_reason text,
      last_failure_at timestamptz,
      api_version text not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      check (not (is_agent_managed and is_project_managed)),
      check (not is_agent_managed or (agent_id is not null and project_id is not null)),
      check (not is_project_managed or (agent_id is null and project_id is not null))
    )`
  yield* sql`create unique index webhooks_agent on webhooks (agent_id) where is_agent_managed`
  yield* sql`create unique index webhooks_project_managed on webhooks (project_id) where is_project_managed`
  yield* sql`create index webhooks_org on webhooks (org_id, id desc)`
  yield* sql`create index webhooks_project on webhooks (project_id, id desc) where project_id is not null`
})
