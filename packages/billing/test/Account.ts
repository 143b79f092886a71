import { SqlClient } from "@effect/sql"
import { newCallId } from "@svc/api/Ids"
import type { Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, ConfigProvider, Effect, Layer } from "effect"
import * as BillingSlice from "../src/BillingSlice.ts"
import type { CallFigures } from "../src/CallCharge.ts"

/** Billing of one node on a given database. */
export const onDatabase = (settings: Readonly<Record<string, string>> = {}) =>
  BillingSlice.services.pipe(
    Layer.provideMerge(AuthSlice.accounts),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings)))))
  )

export const eur = (text: string): BigDecimal.BigDecimal => BigDecimal.unsafeFromString(text)

/** A new organization with this opening balance. */
export const organization = (tier: Tier, balance = "0") =>
  Effect.flatMap(Accounts, (accounts) =>
    Effect.map(accounts.createOrganization({ name: "Test", tier, balance_eur: eur(balance) }), ({ id }) => id)
  )

export const call = (org_id: number, recording = false) =>
  Effect.map(newCallId, (call_id) => ({ call_id, org_id, recording }))

export const figures = (seconds: number, more: Partial<CallFigures> = {}): CallFigures => ({
  seconds,
  recording_seconds: 0,
  transfer_seconds: 0,
  llm_discount: 0,
  llm: { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 },
  ...more
})

/** The purpose of a message's cost. */
export const message = (org_id: number, reference: string) => ({ org_id, kind: "sms" as const, reference })

/** `kind amount balance_after` of each entry, oldest first. */
export const entries = (org: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly kind: string; readonly amount_eur: string; readonly balance_after: string }>`
      select kind, amount_eur, balance_after from ledger_entries where org_id = ${org} order by id`
  ).pipe(
    Effect.map((rows) => rows.map((r) => `${r.kind} ${Number(r.amount_eur)} ${Number(r.balance_after)}`)),
    Effect.orDie
  )

/** Inconsistencies of a ledger: an entry that does not follow from the one before, or a last one that is not the balance. */
export const faults = (org: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly fault: string }>`
      select 'entry ' || id as fault from (
        select id, balance_after, sum(amount_eur) over (order by id) as should from ledger_entries where org_id = ${org}
      ) chain where balance_after <> should
      union all
      select 'balance' from balances b where org_id = ${org} and balance_eur <>
        coalesce((select sum(amount_eur) from ledger_entries e where e.org_id = b.org_id), 0)`
  ).pipe(
    Effect.map((rows) => rows.map(({ fault }) => fault)),
    Effect.orDie
  )

export const Test = onDatabase().pipe(Layer.provideMerge(TestDatabase.layer))
