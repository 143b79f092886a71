import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Orders to carriers, and the rent of numbers. An order is written before the carrier gets it and repeated with its key
 * until the carrier has answered. `next_at` is when it is repeated; a claim moves it forward. See the numbers package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table number_orders (
      id bigint generated always as identity primary key,
      kind text not null check (kind in ('purchase', 'release')),
      -- Random, so that databases which share an account with a carrier do not collide.
      key text not null unique default gen_random_uuid()::text,
      org_id bigint not null references organizations (id),
      project_id bigint not null references projects (id),
      number text not null,
      telephony text not null,
      -- Carriers to ask next when this one refuses a purchase.
      other_sellers text[] not null default '{}',
      agent_id bigint references agents (id),
      agent_public_id text,
      address_id bigint references addresses (id),
      -- What the carrier gets of the address, so that a repetition is the same order.
      address jsonb,
      monthly_cost_eur numeric(12, 4) not null default 0,
      status text not null default 'pending' check (status in ('pending', 'done', 'refused')),
      reason text,
      attempts integer not null default 0,
      next_at timestamptz default now(),
      claimed_by text,
      created_at timestamptz not null default now(),
      finished_at timestamptz,
      check ((status = 'pending') = (next_at is not null)),
      check (claimed_by is null or status = 'pending')
    )`
  yield* sql`create unique index number_orders_pending on number_orders (number) where status = 'pending'`
  yield* sql`create index number_orders_due on number_orders (next_at) where status = 'pending'`
  yield* sql`create index number_orders_number on number_orders (number)`
  yield* sql`
    create index number_orders_address on number_orders (address_id) where address_id is not null and status = 'pending'`
  yield* sql`
    create trigger number_orders_live_project before insert on number_orders
    for each row when (new.kind = 'purchase') execute function require_live_project()`
  yield* sql`
    alter table phone_numbers
      add column carrier_id text,
      add column rent_months integer not null default 0,
      add column rent_paid_until timestamptz`
  yield* sql`
    create index phone_numbers_rent on phone_numbers (rent_paid_until)
    where status = 'active' and rent_paid_until is not null`
})
