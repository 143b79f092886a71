import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Phone numbers. The agent's public id is stored too, because it never changes. See the numbers package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table phone_numbers (
      id bigint generated always as identity primary key,
      org_id bigint not null references organizations (id),
      project_id bigint not null references projects (id),
      number text not null,
      country text not null,
      type text not null check (type in ('local', 'mobile', 'toll_free')),
      agent_id bigint references agents (id),
      agent_public_id text,
      monthly_cost_eur numeric not null,
      telephony text not null,
      status text not null default 'active' check (status in ('active', 'released')),
      purchased_at timestamptz not null default now(),
      check ((agent_id is null) = (agent_public_id is null))
    )`
  yield* sql`create unique index phone_numbers_active on phone_numbers (number) where status = 'active'`
  yield* sql`create index phone_numbers_project on phone_numbers (project_id, id desc) where status = 'active'`
  yield* sql`create index phone_numbers_agent on phone_numbers (agent_id) where agent_id is not null`
})
