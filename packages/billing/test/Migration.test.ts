import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newOrgId } from "@svc/api/Ids"
import * as Migrations from "@svc/database/Migrations"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Effect, Layer } from "effect"
import { Billing } from "../src/Billing.ts"
import { entries, faults, onDatabase } from "./Account.ts"

layer(TestDatabase.layer, { timeout: "60 seconds" })("An upgrade", (it) => {
  it.scoped("carries balances over as the first entry of the ledgers", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // The schema as it was before there was a ledger.
      yield* sql`drop trigger organizations_account on organizations`
      yield* sql`drop table ledger_entries, balances, call_holds, usage_days`
      yield* sql`drop function ledger_apply, ledger_keep, balances_guard, account_open`
      yield* sql`delete from migrations where name = '0008_billing'`
      const [a, b, c] = yield* Effect.all([newOrgId, newOrgId, newOrgId])
      const made = yield* sql<{ readonly id: number }>`
        insert into organizations (public_id, name, tier, balance_eur)
        values (${a}, 'A', 'payg', 12.34567), (${b}, 'B', 'growth', 0), (${c}, 'C', 'enterprise', -3.5)
        returning id`
      expect(yield* Migrations.run).toEqual(["0008_billing"])
      const billing = Context.get(yield* Layer.build(onDatabase()), Billing)
      const balances = yield* Effect.forEach(made, ({ id }) => billing.account(id))
      expect(balances.map(({ balance_eur, is_paused }) => [balance_eur, is_paused])).toEqual([
        [12.3457, false],
        [0, true],
        [-3.5, false]
      ])
      const all = yield* Effect.forEach(made, ({ id }) => entries(id))
      expect(all).toEqual([["top_up 12.3457 12.3457"], [], ["top_up -3.5 -3.5"]])
      for (const { id } of made) expect(yield* faults(id)).toEqual([])
    })
  )
})
