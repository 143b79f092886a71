import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** What a call used of its providers, its connection, and what its models cost. See docs/reference/calls.md. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table calls
      -- Null: not settled yet, or settled by an earlier release.
      add column usage jsonb,
      add column line jsonb,
      add column llm_cost numeric(12, 4) not null default 0`
  yield* sql`
    alter table call_holds
      add column llm_input_per_million numeric(12, 4) not null default 0,
      add column llm_cached_input_per_million numeric(12, 4) not null default 0,
      add column llm_output_per_million numeric(12, 4) not null default 0`
  yield* sql`alter table ledger_entries drop constraint ledger_entries_kind_check`
  // Not validated: the former constraint, which allowed less, has checked the existing rows.
  yield* sql`
    alter table ledger_entries add constraint ledger_entries_kind_check check (
      kind in (
        'top_up', 'call_hold', 'call_hold_release', 'call', 'recording', 'transfer', 'llm', 'sms_hold',
        'sms_hold_release', 'sms', 'number_rent_hold', 'number_rent_hold_release', 'number_rent', 'refund'
      )
    ) not valid`
})
