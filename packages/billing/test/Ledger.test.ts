import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { BigDecimal, Effect, FastCheck as fc } from "effect"
import { Billing } from "../src/Billing.ts"
import { type LedgerKind, LedgerRepo } from "../src/LedgerRepo.ts"
import { entries, eur, faults, organization, Test } from "./Account.ts"

layer(Test, { timeout: "60 seconds" })("The ledger", (it) => {
  const book = (org: number, kind: LedgerKind, reference: string, amount: string) =>
    Effect.gen(function* () {
      const ledger = yield* LedgerRepo
      const sql = yield* SqlClient.SqlClient
      const append = ledger.append(org, [{ kind, reference, amount_eur: eur(amount) }])
      yield* Effect.zipRight(ledger.lock(org), append).pipe(sql.withTransaction, Effect.orDie)
    })

  it.effect("begins with the opening balance", () =>
    Effect.gen(function* () {
      const rich = yield* organization("payg", "12.3456")
      const poor = yield* organization("payg")
      expect(yield* entries(rich)).toEqual(["top_up 12.3456 12.3456"])
      expect(yield* entries(poor)).toEqual([])
      const billing = yield* Billing
      expect((yield* billing.account(rich)).balance_eur).toBe(12.3456)
      expect((yield* billing.account(poor)).balance_eur).toBe(0)
    })
  )

  it.effect("has one entry per movement, with balance_after", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("payg")
      expect(yield* billing.add(org, eur("10"))).toMatchObject({ balance_eur: 10, is_paused: false })
      yield* book(org, "sms", "m1", "-0.07")
      yield* book(org, "number_rent", "n1", "-5")
      yield* book(org, "refund", "m1", "0.07")
      expect(yield* entries(org)).toEqual(["top_up 10 10", "sms -0.07 9.93", "number_rent -5 4.93", "refund 0.07 5"])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.effect("books each kind and reference once, also when booked concurrently", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("payg")
      yield* Effect.replicateEffect(billing.add(org, eur("1"), "invoice-7"), 8, { concurrency: "unbounded" })
      yield* Effect.replicateEffect(book(org, "sms", "m", "-0.25"), 8, { concurrency: "unbounded" })
      expect(yield* entries(org)).toEqual(["top_up 1 1", "sms -0.25 0.75"])
    })
  )

  it.effect("allows the same reference for different organizations", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const orgs = [yield* organization("payg"), yield* organization("payg")]
      yield* Effect.forEach(orgs, (org) => billing.add(org, eur("3"), "invoice-1"))
      for (const org of orgs) expect(yield* entries(org)).toEqual(["top_up 3 3"])
    })
  )

  it.effect("refuses invalid amounts", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("payg")
      for (const amount of ["0", "-1", "-0.0001", "0.00001", "1.23456", "1000000000", "1e30"]) {
        const added = yield* Effect.flip(billing.add(org, eur(amount)))
        expect([amount, added._tag]).toEqual([amount, "InvalidAmount"])
      }
      expect(yield* entries(org)).toEqual([])
    })
  )

  it.effect("cannot be bypassed, changed or truncated", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization("payg", "5")
      const refused = (statement: Effect.Effect<unknown, unknown>) =>
        Effect.map(Effect.flip(statement), (error) => String(error instanceof Error ? error.cause : error))
      expect(yield* refused(sql`update balances set balance_eur = 100 where org_id = ${org}`)).toMatch(
        /by the ledger only/
      )
      expect(yield* refused(sql`update ledger_entries set amount_eur = 100 where org_id = ${org}`)).toMatch(
        /never changed/
      )
      expect(yield* refused(sql`delete from ledger_entries where org_id = ${org}`)).toMatch(/never changed/)
      expect(yield* refused(sql`delete from balances where org_id = ${org}`)).toMatch(/foreign key/)
      const wrongBalance = sql`
        insert into ledger_entries (org_id, kind, reference, amount_eur, balance_after)
        values (${org}, 'top_up', 'x', 1, 7)`
      expect(yield* refused(wrongBalance)).toMatch(/balance_after/)
      expect(yield* entries(org)).toEqual(["top_up 5 5"])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.effect("a balance is the sum of its entries under any concurrent movements", () =>
    Effect.gen(function* () {
      const ledger = yield* LedgerRepo
      const sql = yield* SqlClient.SqlClient
      const movement = fc.record({
        kind: fc.constantFrom("top_up" as const, "sms" as const, "refund" as const),
        // Few references, so that some repeat.
        reference: fc.integer({ min: 0, max: 30 }).map(String),
        amount_eur: fc.bigInt({ min: -99_999_999n, max: 99_999_999n }).map((n) => BigDecimal.make(n, 4))
      })
      const batches = fc.sample(fc.array(movement, { minLength: 1, maxLength: 4 }), { numRuns: 120, seed: 7 })
      const orgs = [yield* organization("payg", "1"), yield* organization("growth")]
      const ours = batches.map((batch, i) => ({
        org: orgs[i % 2] ?? 0,
        batch: [...new Map(batch.map((m) => [`${m.kind} ${m.reference}`, m])).values()]
      }))
      yield* Effect.forEach(
        ours,
        ({ batch, org }) =>
          Effect.zipRight(ledger.lock(org), ledger.append(org, batch)).pipe(sql.withTransaction, Effect.orDie),
        { concurrency: 5, discard: true }
      )
      for (const org of orgs) {
        expect(yield* faults(org)).toEqual([])
        const asked = new Set(
          ours
            .flatMap((one) => (one.org === org ? one.batch : []))
            .flatMap((m) => (BigDecimal.isZero(m.amount_eur) ? [] : [`${m.kind} ${m.reference}`]))
        )
        const opening = org === orgs[0] ? 1 : 0
        expect((yield* entries(org)).length).toBe(asked.size + opening)
      }
    })
  )
})
