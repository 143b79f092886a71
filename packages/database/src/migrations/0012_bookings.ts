import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Booking customers, and the stored answers of idempotency keys. See the bookings package.
 *
 * `q` searches `search`: name, email and phone in lower case without accents, by trigrams. A search for one or two
 * characters has no trigrams: `search_codes` has three characters for each one, and so has trigrams for those too.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create extension if not exists pg_trgm`
  yield* sql`create extension if not exists btree_gin`
  yield* sql`
    create table booking_customers (
      id bigint generated always as identity,
      public_id text not null unique,
      org_id bigint not null references organizations (id),
      name text not null,
      email text,
      phone text,
      address text,
      postcode text,
      city text,
      country text not null,
      language text not null,
      birthdate date,
      marketing_opt_in boolean not null,
      notes text,
      total_bookings integer not null default 0,
      is_anonymized boolean not null default false,
      search text not null,
      search_codes text not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz,
      -- Not of the id alone: a page of one organization would be looked for among everybody's newest.
      primary key (org_id, id),
      check (is_anonymized or email is not null or phone is not null)
    )`
  yield* sql`create index booking_customers_live on booking_customers (org_id, id desc) where deleted_at is null`
  yield* sql`create index booking_customers_bin on booking_customers (org_id, id desc) where deleted_at is not null`
  yield* sql`create index booking_customers_deleted_at on booking_customers (deleted_at) where deleted_at is not null`
  yield* sql`create index booking_customers_email on booking_customers (org_id, lower(email), id desc)`
  yield* sql`create index booking_customers_phone on booking_customers (org_id, phone, id desc)`
  yield* sql`create index booking_customers_search on booking_customers using gin (org_id, search gin_trgm_ops)`
  yield* sql`
    create index booking_customers_search_codes on booking_customers using gin (org_id, search_codes gin_trgm_ops)`

  // One row per key, with the request and its answer: `json`, because the fields of the answer must keep their order.
  yield* sql`
    create table idempotency_keys (
      api_key_id bigint not null references api_keys (id),
      key text not null,
      fingerprint bytea not null,
      status integer,
      answer json,
      created_at timestamptz not null default now(),
      primary key (api_key_id, key)
    )`
  yield* sql`create index idempotency_keys_created_at on idempotency_keys (created_at)`
  yield* sql`
    create index idempotency_keys_customer on idempotency_keys ((answer #>> '{data,id}'))
    where answer #>> '{data,name}' is not null`
  yield* sql`
    create table idempotency_key_counts (
      api_key_id bigint not null references api_keys (id),
      day date not null,
      keys integer not null,
      primary key (api_key_id, day)
    )`

  // To erase a customer's data from events.
  yield* sql`
    create index events_booking_customer on events ((data ->> 'customer_id')) where data ? 'customer_id'`
})
