import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Addresses and the state of their verification. `next_at` is when the carrier is asked next, null when it is not; a
 * claim moves it forward, so that the question of a process that hangs is repeated. See the numbers package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table addresses (
      id bigint generated always as identity primary key,
      org_id bigint not null references organizations (id),
      project_id bigint not null references projects (id),
      customer_name text not null,
      street text not null,
      city text not null,
      postcode text not null,
      region text,
      country text not null,
      number_types jsonb not null,
      status text not null default 'pending'
        check (status in ('pending', 'verified', 'partially_verified', 'rejected', 'expired')),
      telephony text,
      -- Random, so that databases which share an account with a carrier do not collide.
      submission_key text not null unique default gen_random_uuid()::text,
      submission_id text,
      attempts integer not null default 0,
      next_at timestamptz default now(),
      leased_by text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz,
      check (submission_id is null or telephony is not null),
      check (deleted_at is null or next_at is null)
    )`
  yield* sql`create index addresses_project on addresses (project_id, id desc) where deleted_at is null`
  yield* sql`create index addresses_due on addresses (next_at) where next_at is not null`
  yield* sql`
    create trigger addresses_live_project before insert on addresses
    for each row execute function require_live_project()`
  yield* sql`alter table phone_numbers add column address_id bigint references addresses (id)`
  yield* sql`create index phone_numbers_address on phone_numbers (address_id) where address_id is not null`
})
