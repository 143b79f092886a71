import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Sent text messages, and whether a call with a hold is over. See the sms and billing packages. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table sms_messages (
      id bigint generated always as identity primary key,
      public_id text not null unique,
      org_id bigint not null,
      project_id bigint not null,
      agent_id bigint,
      agent_public_id text,
      call_id text,
      reference text not null unique,
      to_number text not null,
      from_number text,
      sender_name text,
      sender_type text not null check (sender_type in ('number', 'alphanumeric')),
      message text not null,
      segments integer not null,
      telephony text not null,
      -- 'sending' for good: the process died before the network answered, and nobody knows whether it was sent.
      status text not null default 'sending' check (status in ('sending', 'sent', 'failed')),
      error text,
      provider_message_id text,
      cost_eur numeric(12, 4),
      created_at timestamptz not null default now(),
      finished_at timestamptz
    )`
  yield* sql`create index sms_messages_project on sms_messages (project_id, id desc)`
  // A call that is over keeps its hold until it is settled, but not its slot.
  yield* sql`alter table call_holds add column is_over boolean not null default false`
})
