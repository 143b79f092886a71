import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Deliveries of events to webhooks. See the webhooks package.
 *
 * `outbox` has the events for which no deliveries were made yet. `webhook_deliveries` is the queue: it has only pending
 * deliveries, so it stays small. `webhook_attempts` is the history, and `webhook_dead_letters` has the deliveries that
 * failed all attempts. They have no foreign keys to `webhooks`: a webhook is deleted and its history stays.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The id by which events name an agent. Stored here, so that deliveries need not join `agents`.
  yield* sql`alter table webhooks add column agent_public_id text`
  yield* sql`
    update webhooks set agent_public_id = agents.public_id from agents where agents.id = webhooks.agent_id`
  yield* sql`create table outbox (seq bigint primary key) with (autovacuum_vacuum_scale_factor = 0.02)`
  yield* sql`
    create table webhook_deliveries (
      id bigint generated always as identity primary key,
      webhook_id bigint not null,
      event_seq bigint not null,
      event_id text not null,
      event text not null,
      org_id bigint not null,
      call_id text,
      is_replay boolean not null default false,
      is_resend boolean not null default false,
      attempts smallint not null default 0,
      next_at timestamptz not null,
      leased_by text,
      last_status_code integer
    ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`
  // No index contains the lease, so that a claim does not update one.
  yield* sql`create index webhook_deliveries_first on webhook_deliveries (webhook_id, id) where attempts = 0`
  yield* sql`create index webhook_deliveries_again on webhook_deliveries (webhook_id, next_at) where attempts > 0`
  yield* sql`
    create table webhook_attempts (
      id bigint generated always as identity primary key,
      webhook_id bigint not null,
      org_id bigint not null,
      event_seq bigint,
      event_id text not null,
      event text not null,
      call_id text,
      url text not null,
      attempt smallint not null,
      status_code integer,
      success boolean not null,
      error text,
      created_at timestamptz not null
    )`
  yield* sql`create index webhook_attempts_webhook on webhook_attempts (webhook_id, id)`
  yield* sql`
    create index webhook_attempts_call on webhook_attempts (call_id, created_at, attempt) where call_id is not null`
  yield* sql`
    create table webhook_dead_letters (
      id bigint generated always as identity primary key,
      webhook_id bigint not null,
      org_id bigint not null,
      event_seq bigint not null,
      event_id text not null,
      event text not null,
      call_id text,
      url text not null,
      is_replay boolean not null,
      attempts smallint not null,
      last_status_code integer,
      last_error text,
      failed_at timestamptz not null
    )`
  yield* sql`create index webhook_dead_letters_webhook on webhook_dead_letters (webhook_id, id)`
  // For replay, which selects the events of an organization by time.
  yield* sql`create index events_org_time on events (org_id, created_at, seq)`
  yield* sql`drop index events_org`
})
