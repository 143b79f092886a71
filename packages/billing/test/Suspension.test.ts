import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Billing } from "../src/Billing.ts"
import { organization, Test } from "./Account.ts"

const day = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 86_400_000)

/** Books amounts (whole EUR) on given days, whose entries a service would date now. */
const book = (org: number, ...movements: ReadonlyArray<readonly [day: number, amount: number]>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    let balance = 0
    for (const [at, amount] of movements) {
      balance += amount
      yield* sql`
        insert into ledger_entries (org_id, kind, reference, amount_eur, balance_after, created_at)
        values (${org}, ${amount > 0 ? "top_up" : "sms"}, ${String(at)}, ${amount}, ${balance}, ${day(at)})`
    }
    return org
  })

const suspended = (orgs: ReadonlyArray<number>, at: number) =>
  Effect.flatMap(Billing, (billing) => billing.suspendedBefore(orgs, day(at)))

layer(Test, { timeout: "60 seconds" })("suspendedBefore", (it) => {
  it.effect("counts from the first entry with a balance of 0 or less, exclusively", () =>
    Effect.gen(function* () {
      const org = yield* book(yield* organization("payg"), [1, 5], [2, -5], [4, -1])
      expect(yield* suspended([org], 1.5)).toEqual([])
      expect(yield* suspended([org], 2)).toEqual([])
      expect(yield* suspended([org], 2.001)).toEqual([org])
      expect(yield* suspended([org], 3)).toEqual([org])
    })
  )

  it.effect("counts again after a top-up", () =>
    Effect.gen(function* () {
      const org = yield* book(yield* organization("payg"), [1, 5], [2, -5], [3, 5], [5, -5])
      expect(yield* suspended([org], 4)).toEqual([])
      expect(yield* suspended([org], 6)).toEqual([org])
    })
  )

  it.effect("returns only the given organizations, and none with credits", () =>
    Effect.gen(function* () {
      const paused = yield* book(yield* organization("payg"), [1, 5], [2, -6])
      const other = yield* book(yield* organization("payg"), [1, 5], [2, -6])
      const rich = yield* book(yield* organization("payg"), [1, 5], [2, -6], [3, 6])
      expect(yield* suspended([paused, rich], 9)).toEqual([paused])
      expect(yield* suspended([paused, other], 9)).toEqual([paused, other])
      expect(yield* suspended([rich], 9)).toEqual([])
    })
  )

  it.effect("counts from the creation of an account without entries", () =>
    Effect.gen(function* () {
      const org = yield* organization("payg")
      expect(yield* suspended([org], 0)).toEqual([])
      expect(yield* suspended([org], 365_000)).toEqual([org])
    })
  )

  it.effect("never returns an enterprise organization", () =>
    Effect.gen(function* () {
      const org = yield* book(yield* organization("enterprise"), [1, 5], [2, -6])
      expect(yield* suspended([org], 9)).toEqual([])
    })
  )
})
