import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Holds of messages and of rent, in the ledger like those of calls. See docs/reference/billing.md. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table ledger_entries drop constraint ledger_entries_kind_check`
  // Not validated: the former constraint, which allowed less, has checked the existing rows.
  yield* sql`
    alter table ledger_entries add constraint ledger_entries_kind_check check (
      kind in (
        'top_up', 'call_hold', 'call_hold_release', 'call', 'recording', 'transfer', 'sms_hold', 'sms_hold_release',
        'sms', 'number_rent_hold', 'number_rent_hold_release', 'number_rent', 'refund'
      )
    ) not valid`
})
