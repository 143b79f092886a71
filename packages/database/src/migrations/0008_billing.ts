import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Balances and ledgers of organizations, holds of live calls, and usage per day. See the billing package.
 *
 * Triggers enforce that a balance is the sum of its ledger entries: only an entry changes it, entries are never changed,
 * and each stores the balance after it.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table balances (
      org_id bigint primary key references organizations (id),
      balance_eur numeric(18, 4) not null default 0,
      updated_at timestamptz not null default now()
    )`
  yield* sql`
    create table ledger_entries (
      id bigint generated always as identity primary key,
      org_id bigint not null references balances (org_id),
      kind text not null check (
        kind in (
          'top_up', 'call_hold', 'call_hold_release', 'call', 'recording', 'transfer', 'sms', 'number_rent', 'refund'
        )
      ),
      reference text not null,
      amount_eur numeric(18, 4) not null check (amount_eur <> 0),
      balance_after numeric(18, 4) not null,
      created_at timestamptz not null default now(),
      unique (org_id, kind, reference)
    )`
  yield* sql`create index ledger_entries_org on ledger_entries (org_id, id desc)`

  yield* sql`
    create function ledger_apply() returns trigger language plpgsql as $$
    begin
      update balances b set balance_eur = b.balance_eur + moved.amount_eur, updated_at = now()
      from (select org_id, sum(amount_eur) as amount_eur from entered group by org_id) moved
      where b.org_id = moved.org_id;
      if exists (
        select 1 from (
          select distinct on (org_id) org_id, balance_after from entered order by org_id, id desc
        ) newest join balances b using (org_id) where b.balance_eur <> newest.balance_after
      ) then
        raise exception 'balance_after is not the balance that the entry leaves';
      end if;
      return null;
    end $$`
  yield* sql`
    create trigger ledger_entries_apply after insert on ledger_entries
    referencing new table as entered for each statement execute function ledger_apply()`
  yield* sql`
    create function ledger_keep() returns trigger language plpgsql as $$
    begin raise exception 'entries of the ledger are never changed'; end $$`
  yield* sql`
    create trigger ledger_entries_keep before update or delete on ledger_entries
    for each row execute function ledger_keep()`
  yield* sql`
    create function balances_guard() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' and new.balance_eur = 0 then return new; end if;
      -- Depth 1 is a statement of somebody's, 2 the one of ledger_apply.
      if pg_trigger_depth() < 2 then raise exception 'a balance moves by the ledger only'; end if;
      return new;
    end $$`
  yield* sql`
    create trigger balances_guard before insert or update of balance_eur on balances
    for each row execute function balances_guard()`

  // Each organization has a balance from its insertion on, with the initial amount of its own row.
  yield* sql`
    create function account_open() returns trigger language plpgsql as $$
    begin
      insert into balances (org_id) values (new.id);
      insert into ledger_entries (org_id, kind, reference, amount_eur, balance_after)
      select new.id, 'top_up', 'opening', round(new.balance_eur, 4), round(new.balance_eur, 4)
      where round(new.balance_eur, 4) <> 0;
      return null;
    end $$`
  yield* sql`
    create trigger organizations_account after insert on organizations
    for each row execute function account_open()`
  yield* sql`
    comment on column organizations.balance_eur is 'What it began with; what it has now is in balances.'`
  yield* sql`insert into balances (org_id) select id from organizations`
  yield* sql`
    insert into ledger_entries (org_id, kind, reference, amount_eur, balance_after)
    select id, 'top_up', 'opening', round(balance_eur, 4), round(balance_eur, 4) from organizations
    where round(balance_eur, 4) <> 0`

  // One row per live call: its slot, its rates and its hold. Deleted when the call is settled.
  yield* sql`
    create table call_holds (
      call_id text primary key,
      org_id bigint not null references organizations (id),
      rate_per_minute numeric(12, 4) not null,
      recording_per_minute numeric(12, 4) not null,
      transfer_per_minute numeric(12, 4) not null,
      held_eur numeric(12, 4) not null,
      admitted_at timestamptz not null default now()
    )`
  yield* sql`create index call_holds_org on call_holds (org_id)`

  // agent_id is 0 and agent_public_id empty for usage without an agent.
  yield* sql`
    create table usage_days (
      org_id bigint not null,
      project_id bigint not null,
      agent_id bigint not null,
      agent_public_id text not null,
      day date not null,
      calls integer not null default 0,
      completed_calls integer not null default 0,
      failed_calls integer not null default 0,
      answered_calls integer not null default 0,
      no_answer_calls integer not null default 0,
      duration_seconds bigint not null default 0,
      minutes_used numeric(18, 4) not null default 0,
      total_cost numeric(18, 4) not null default 0,
      recording_cost numeric(18, 4) not null default 0,
      llm_discount numeric(18, 4) not null default 0,
      sms_count integer not null default 0,
      sms_cost numeric(18, 4) not null default 0,
      primary key (project_id, agent_id, day)
    )`
  yield* sql`create index usage_days_org on usage_days (org_id, day)`
  yield* sql`create index usage_days_project on usage_days (project_id, day)`
})
