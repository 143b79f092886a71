import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, Context, Effect, Layer, TestClock } from "effect"
import { Billing } from "../src/Billing.ts"
import { Holds } from "../src/Holds.ts"
import { call, entries, eur, faults, figures, message, onDatabase, organization, Test } from "./Account.ts"

/** Billing of another process with these settings. */
const another = (settings: Readonly<Record<string, string>> = {}) =>
  Effect.map(Layer.build(Layer.fresh(onDatabase(settings))), Context.get(Billing))

layer(Test, { timeout: "60 seconds" })("Billing", (it) => {
  it.effect("admit holds one minute at the call's rates, and settle charges the usage", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("payg", "10")
      const one = yield* call(org, true)
      expect(yield* billing.admit(one)).toBe("admitted")
      expect(yield* billing.account(org)).toEqual({
        balance_eur: 9.875,
        tier: "payg",
        concurrent_call_limit: 10,
        is_paused: false
      })
      expect(yield* billing.liveCalls(org)).toBe(1)
      yield* billing.settle(
        one.call_id,
        figures(90, { recording_seconds: 90, transfer_seconds: 10, llm_discount: 0.5 })
      )
      expect(yield* billing.liveCalls(org)).toBe(0)
      expect(yield* entries(org)).toEqual([
        "top_up 10 10",
        "call_hold -0.125 9.875",
        "call_hold_release 0.125 10",
        "call -0.09 9.91",
        "recording -0.01 9.9",
        "transfer -0.005 9.895"
      ])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.scoped("settle books the models at the token rates of the call's admission", () =>
    Effect.gen(function* () {
      const org = yield* organization("payg", "10")
      const one = yield* call(org)
      const priced = yield* another({
        SVC_RATE_LLM_INPUT_PER_MILLION_PAYG: "2.5",
        SVC_RATE_LLM_CACHED_INPUT_PER_MILLION_PAYG: "1.25",
        SVC_RATE_LLM_OUTPUT_PER_MILLION_PAYG: "10"
      })
      yield* priced.admit(one)
      const llm = { input_tokens: 40_000, cached_input_tokens: 30_000, output_tokens: 1200 }
      // Another process, which has no such rates, settles it.
      yield* (yield* Billing).settle(one.call_id, figures(60, { llm }))
      expect(yield* entries(org)).toEqual([
        "top_up 10 10",
        "call_hold -0.12 9.88",
        "call_hold_release 0.12 10",
        "call -0.12 9.88",
        "llm -0.0745 9.8055"
      ])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.effect("settle charges nothing for a call that was not answered", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("starter", "1")
      const one = yield* call(org)
      yield* billing.admit(one)
      yield* billing.settle(one.call_id, figures(0))
      expect(yield* entries(org)).toEqual(["top_up 1 1", "call_hold -0.1 0.9", "call_hold_release 0.1 1"])
    })
  )

  it.effect("settle uses the rates at which the call was admitted", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization("payg", "10")
      const one = yield* call(org)
      yield* billing.admit(one)
      yield* sql`update organizations set tier = 'growth' where id = ${org}`
      const charge = yield* billing.settle(one.call_id, figures(60))
      expect(BigDecimal.format(charge.rate_per_minute)).toBe("0.12")
      expect((yield* billing.account(org)).balance_eur).toBe(9.88)
    })
  )

  it.scoped("of concurrent calls on several nodes, one more than concurrent_call_limit, exactly one is refused", () =>
    Effect.gen(function* () {
      const org = yield* organization("payg", "100")
      const nodes = [yield* Billing, yield* another(), yield* another()]
      const calls = yield* Effect.replicateEffect(call(org), 11)
      const admissions = yield* Effect.forEach(
        calls,
        (one, i) => Effect.flatMap(Effect.fromNullable(nodes[i % 3]), (node) => node.admit(one)),
        { concurrency: "unbounded" }
      )
      expect(admissions.filter((a) => a === "full")).toHaveLength(1)
      expect(admissions.filter((a) => a === "admitted")).toHaveLength(10)
      // The refused call has no hold, and a released slot can be taken.
      expect((yield* entries(org)).length).toBe(11)
      const [first] = calls.filter((_, i) => admissions[i] === "admitted")
      yield* (yield* Billing).settle(first?.call_id ?? "", figures(0))
      const more = yield* Effect.forEach(
        yield* Effect.replicateEffect(call(org), 3),
        (one) => nodes[0]?.admit(one) ?? Effect.die("none")
      )
      expect(more).toEqual(["admitted", "full", "full"])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.scoped("enterprise is never paused, and full only with a configured limit", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("enterprise")
      const admitted = yield* Effect.forEach(yield* Effect.replicateEffect(call(org), 20), billing.admit, {
        concurrency: 5
      })
      expect(new Set(admitted)).toEqual(new Set(["admitted"]))
      expect(yield* entries(org)).toEqual([])
      expect(yield* billing.account(org)).toMatchObject({ balance_eur: 0, is_paused: false })
      const limited = yield* another({ SVC_LIMIT_CONCURRENT_CALLS_ENTERPRISE: "21" })
      const more = yield* Effect.forEach(yield* Effect.replicateEffect(call(org), 2), limited.admit, { concurrency: 2 })
      expect(more.sort()).toEqual(["admitted", "full"])
    })
  )

  it.scoped("enterprise with rates is not limited to its default of 1000 concurrent calls", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const billing = yield* another({ SVC_RATE_CALL_PER_MINUTE_ENTERPRISE: "0.1" })
      const org = yield* organization("enterprise", "1")
      yield* sql`
        insert into call_holds (call_id, org_id, rate_per_minute, recording_per_minute, transfer_per_minute, held_eur)
        select ${org}::text || '-' || i, ${org}::bigint, 0, 0, 0, 0 from generate_series(1, 1000) i`
      expect(yield* Effect.flatMap(call(org), billing.admit)).toBe("admitted")
    })
  )

  it.scoped("enterprise with configured rates is charged, and not paused below 0", () =>
    Effect.gen(function* () {
      const paying = yield* another({ SVC_RATE_CALL_PER_MINUTE_ENTERPRISE: "0.05" })
      const org = yield* organization("enterprise")
      for (const seconds of [60, 120]) {
        const one = yield* call(org)
        expect(yield* paying.admit(one)).toBe("admitted")
        yield* paying.settle(one.call_id, figures(seconds))
      }
      expect(yield* paying.account(org)).toMatchObject({ balance_eur: -0.15, is_paused: false })
      expect(yield* paying.mayWrite(org)).toBe(true)
    })
  )

  it.scoped("freeSlot releases the slot, and the hold stays until settle", () =>
    Effect.gen(function* () {
      const limited = yield* another({ SVC_LIMIT_CONCURRENT_CALLS_PAYG: "1" })
      const org = yield* organization("payg", "5")
      const first = yield* call(org)
      expect(yield* limited.admit(first)).toBe("admitted")
      expect(yield* limited.admit(yield* call(org))).toBe("full")
      yield* limited.freeSlot(first.call_id)
      expect([yield* limited.liveCalls(org), (yield* limited.account(org)).balance_eur]).toEqual([0, 4.88])
      // Of concurrent calls for one slot, one is admitted.
      const others = yield* Effect.replicateEffect(call(org), 20)
      const admitted = yield* Effect.forEach(others, limited.admit, { concurrency: "unbounded" })
      expect(admitted.filter((one) => one === "admitted")).toHaveLength(1)
      const { total_cost } = yield* limited.settle(first.call_id, figures(60))
      expect(BigDecimal.unsafeToNumber(total_cost)).toBe(0.12)
      yield* limited.freeSlot(first.call_id)
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.effect("an account is paused exactly while its balance is 0 or less", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("payg")
      const paused = Effect.map(billing.account(org), (account) => account.is_paused)
      expect(yield* paused).toBe(true)
      expect(yield* billing.admit(yield* call(org))).toBe("paused")
      expect((yield* billing.add(org, eur("0.2"))).is_paused).toBe(false)
      const long = yield* call(org)
      expect(yield* billing.admit(long)).toBe("admitted")
      // The balance is less than the rate of a minute: the next call is admitted, and its hold pauses the account.
      expect(yield* billing.admit(yield* call(org))).toBe("admitted")
      expect(yield* billing.admit(yield* call(org))).toBe("paused")
      // A live call continues below 0.
      yield* billing.settle(long.call_id, figures(600))
      expect(yield* billing.account(org)).toMatchObject({ balance_eur: -1.12, is_paused: true })
      yield* billing.add(org, eur("1.12"))
      expect(yield* paused).toBe(true)
      yield* billing.add(org, eur("0.0001"))
      expect(yield* paused).toBe(false)
    })
  )

  it.effect(
    "a placed call is refused while the balance does not cover its hold, and leaves neither slot nor hold",
    () =>
      Effect.gen(function* () {
        const billing = yield* Billing
        const org = yield* organization("payg", "0.2")
        const placed = Effect.flatMap(call(org), (one) => billing.admit({ ...one, is_placed: true }))
        expect([yield* placed, yield* placed, yield* placed]).toEqual(["admitted", "paused", "paused"])
        expect(yield* billing.liveCalls(org)).toBe(1)
        expect(yield* entries(org)).toEqual(["top_up 0.2 0.2", "call_hold -0.12 0.08"])
      })
  )

  it.scoped("a call whose minute is free is charged for its transfer, once", () =>
    Effect.gen(function* () {
      const billing = yield* another({ SVC_RATE_CALL_PER_MINUTE_PAYG: "0" })
      const org = yield* organization("payg", "1")
      const one = yield* call(org)
      yield* billing.admit(one)
      const settle = billing.settle(one.call_id, figures(60, { transfer_seconds: 60 }))
      yield* Effect.replicateEffect(settle, 3, { concurrency: "unbounded" })
      expect(yield* entries(org)).toEqual(["top_up 1 1", "transfer -0.03 0.97"])
    })
  )

  it.effect("mayWrite is false while the account is paused, with a delay of at most a second", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const org = yield* organization("payg", "0.05")
      expect(yield* billing.mayWrite(org)).toBe(true)
      yield* (yield* Holds).hold(message(org, "m"), eur("0.05"))
      yield* TestClock.adjust("999 millis")
      expect(yield* billing.mayWrite(org)).toBe(true)
      yield* TestClock.adjust("2 millis")
      expect(yield* billing.mayWrite(org)).toBe(false)
      // A top-up on this node is seen at once.
      yield* billing.add(org, eur("5"))
      expect(yield* billing.mayWrite(org)).toBe(true)
    })
  )

  it.scoped("concurrent settlements of a call book it once", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const nodes = [billing, yield* another(), yield* another()]
      const org = yield* organization("payg", "10")
      const one = yield* call(org)
      yield* billing.admit(one)
      const charges = yield* Effect.forEach([...nodes, ...nodes], (node) => node.settle(one.call_id, figures(60)), {
        concurrency: "unbounded"
      })
      expect(charges.filter((charge) => charge.total_cost.value > 0n)).toHaveLength(1)
      expect(yield* entries(org)).toEqual([
        "top_up 10 10",
        "call_hold -0.12 9.88",
        "call_hold_release 0.12 10",
        "call -0.12 9.88"
      ])
    })
  )

  it.effect("a settlement that is rolled back leaves the hold for the next one", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization("payg", "10")
      const one = yield* call(org)
      yield* billing.admit(one)
      // The process is killed, or its connection lost, after the statements and before the commit.
      yield* billing
        .settle(one.call_id, figures(60))
        .pipe(Effect.zipRight(Effect.die("gone")), sql.withTransaction, Effect.exit)
      expect(yield* billing.liveCalls(org)).toBe(1)
      expect((yield* billing.account(org)).balance_eur).toBe(9.88)
      yield* billing.settle(one.call_id, figures(60))
      expect(yield* billing.liveCalls(org)).toBe(0)
      expect((yield* entries(org)).slice(-1)).toEqual(["call -0.12 9.88"])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.effect("an admission that is rolled back leaves neither slot nor hold", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization("payg", "10")
      yield* Effect.flatMap(call(org), billing.admit).pipe(
        Effect.zipRight(Effect.die("gone")),
        sql.withTransaction,
        Effect.exit
      )
      expect(yield* billing.liveCalls(org)).toBe(0)
      expect(yield* entries(org)).toEqual(["top_up 10 10"])
    })
  )

  it.effect("the ledger is consistent after concurrent calls, messages and top-ups", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const holds = yield* Holds
      const orgs = [yield* organization("payg", "1"), yield* organization("scale", "3")]
      const day = (org: number, i: number) =>
        Effect.gen(function* () {
          const one = yield* call(org, i % 2 === 0)
          const admission = yield* billing.admit(one)
          if (i % 5 === 0) yield* billing.add(org, eur("0.5"), `t${i}`)
          if (i % 3 === 0) yield* Effect.ignore(holds.hold(message(org, `m${i}`), eur("0.0375")))
          if (i % 6 === 0) yield* holds.settle(message(org, `m${i}`))
          if (admission === "admitted") yield* billing.settle(one.call_id, figures(i * 7, { recording_seconds: i }))
        })
      yield* Effect.forEach(
        orgs,
        (org) =>
          Effect.forEach(
            Array.from({ length: 40 }, (_, i) => i),
            (i) => day(org, i),
            { concurrency: 8 }
          ),
        { concurrency: 2 }
      )
      for (const org of orgs) {
        expect(yield* faults(org)).toEqual([])
        expect(yield* billing.liveCalls(org)).toBe(0)
      }
    })
  )
})

layer(TestDatabase.layer, { timeout: "60 seconds" })("While the database is away", (it) => {
  it.scoped("nothing is booked, and the call is settled when the database is back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const services = yield* Layer.build(onDatabase())
      const billing = Context.get(services, Billing)
      const org = yield* Effect.provide(organization("payg", "10"), services)
      const one = yield* call(org)
      yield* billing.admit(one)
      // Without the table every statement on it fails, as on a server that fails over.
      yield* sql`alter table ledger_entries rename to ledger_away`
      const failed = yield* Effect.exit(billing.settle(one.call_id, figures(60)))
      expect(failed._tag).toBe("Failure")
      yield* sql`alter table ledger_away rename to ledger_entries`
      yield* billing.settle(one.call_id, figures(60))
      expect((yield* billing.account(org)).balance_eur).toBe(9.88)
      expect(yield* faults(org)).toEqual([])
    })
  )
})
