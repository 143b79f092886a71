import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { BigDecimal, Context, Effect, FastCheck as fc, Layer, Ref } from "effect"
import { Billing } from "../src/Billing.ts"
import { Holds } from "../src/Holds.ts"
import { entries, eur, faults, message, onDatabase, organization, Test } from "./Account.ts"

/** The holds of another process. */
const another = Effect.map(Layer.build(Layer.fresh(onDatabase())), Context.get(Holds))
const balanceOf = (org: number) => Effect.flatMap(Billing, (billing) => billing.account(org))

layer(Test, { timeout: "60 seconds" })("Holds", (it) => {
  it.effect("hold takes the amount from the balance, settle books it, release gives it back", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("payg", "1")
      yield* holds.hold(message(org, "a"), eur("0.09"))
      yield* holds.hold(message(org, "b"), eur("0.18"))
      expect((yield* balanceOf(org)).balance_eur).toBe(0.73)
      expect(yield* holds.settle(message(org, "a"))).toBe(true)
      expect(yield* holds.release(message(org, "b"))).toBe(true)
      expect(yield* entries(org)).toEqual([
        "top_up 1 1",
        "sms_hold -0.09 0.91",
        "sms_hold -0.18 0.73",
        "sms_hold_release 0.09 0.82",
        "sms -0.09 0.73",
        "sms_hold_release 0.18 0.91"
      ])
      expect(yield* faults(org)).toEqual([])
    })
  )

  it.effect("settle books the given costs in place of the held amount, also more than it", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("payg", "10")
      const rent = { org_id: org, kind: "number_rent", reference: "7/2026-11" } as const
      yield* holds.hold(rent, eur("5"))
      yield* holds.settle(rent, [
        { kind: "number_rent", amount_eur: eur("6.5") },
        { kind: "recording", amount_eur: eur("0") }
      ])
      expect((yield* entries(org)).slice(1)).toEqual([
        "number_rent_hold -5 5",
        "number_rent_hold_release 5 10",
        "number_rent -6.5 3.5"
      ])
    })
  )

  it.effect("hold fails with INSUFFICIENT_CREDITS when the balance does not cover it, and may use all of it", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("payg", "0.2")
      yield* holds.hold(message(org, "a"), eur("0.1"))
      const few = yield* Effect.flip(holds.hold(message(org, "b"), eur("0.1001")))
      expect([few.code, few.message]).toEqual([
        "INSUFFICIENT_CREDITS",
        "This costs 0.1001 EUR, more than the account's credits; add credits and try again"
      ])
      yield* holds.hold(message(org, "c"), eur("0.1"))
      const none = yield* Effect.flip(holds.hold(message(org, "d"), eur("0.0001")))
      expect(none.message).toBe("The account is paused: no credits left")
      expect((yield* entries(org)).slice(1)).toEqual(["sms_hold -0.1 0.1", "sms_hold -0.1 0"])
      // What was held before is not held again, and not refused either.
      yield* holds.hold(message(org, "a"), eur("0.1"))
      expect((yield* balanceOf(org)).balance_eur).toBe(0)
    })
  )

  it.effect("tier enterprise may hold more than its balance", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("enterprise")
      yield* holds.hold(message(org, "a"), eur("0.1"))
      yield* holds.settle(message(org, "a"))
      expect(yield* balanceOf(org)).toMatchObject({ balance_eur: -0.1, is_paused: false })
    })
  )

  it.effect("what is free needs no credits and leaves no entry", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("payg")
      yield* holds.hold(message(org, "a"), eur("0"))
      expect([yield* holds.settle(message(org, "a")), yield* holds.release(message(org, "a"))]).toEqual([false, false])
      expect(yield* entries(org)).toEqual([])
    })
  )

  it.effect("settle and release of what was never held book nothing", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("payg", "1")
      const other = yield* organization("payg", "1")
      yield* holds.hold(message(other, "a"), eur("0.5"))
      const cost = [{ kind: "sms", amount_eur: eur("0.5") }] as const
      expect(yield* holds.settle(message(org, "a"), cost)).toBe(false)
      expect(yield* holds.release(message(org, "a"))).toBe(false)
      expect(yield* holds.settle({ org_id: other, kind: "number_rent", reference: "a" }, cost)).toBe(false)
      expect(yield* entries(org)).toEqual(["top_up 1 1"])
    })
  )

  it.effect("an amount below 0 or with more than 4 decimals is a defect, and books nothing", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const org = yield* organization("payg", "10")
      yield* holds.hold(message(org, "held"), eur("1"))
      for (const amount of ["-0.0001", "0.00001", "1000000000"]) {
        const cost = [{ kind: "sms", amount_eur: eur(amount) }] as const
        const tried = [
          holds.hold(message(org, amount), eur(amount)),
          holds.holdUncovered(message(org, amount), eur(amount)),
          holds.settle(message(org, "held"), cost)
        ]
        for (const one of tried) {
          const defect = yield* Effect.flip(Effect.sandbox(one))
          expect([amount, defect._tag]).toEqual([amount, "Die"])
        }
      }
      expect(yield* entries(org)).toEqual(["top_up 10 10", "sms_hold -1 9"])
    })
  )

  it.effect("a hold is rolled back with the transaction that begins the work", () =>
    Effect.gen(function* () {
      const holds = yield* Holds
      const sql = yield* SqlClient.SqlClient
      const org = yield* organization("payg", "1")
      yield* holds
        .hold(message(org, "a"), eur("0.5"))
        .pipe(Effect.zipRight(Effect.die("the process dies here")), sql.withTransaction, Effect.exit)
      expect(yield* entries(org)).toEqual(["top_up 1 1"])
      expect(yield* holds.settle(message(org, "a"))).toBe(false)
    })
  )

  it.scoped("a hold of a process that died is settled or released by exactly one of those who finish its work", () =>
    Effect.gen(function* () {
      const org = yield* organization("payg", "1")
      const dead = yield* Effect.scoped(Effect.flatMap(another, (holds) => holds.hold(message(org, "a"), eur("0.5"))))
      expect(dead).toBeUndefined()
      const nodes = [yield* Holds, yield* another, yield* another]
      const sql = yield* SqlClient.SqlClient
      // A finisher that dies before its commit leaves the hold to the next.
      yield* (yield* Holds)
        .settle(message(org, "a"))
        .pipe(Effect.zipRight(Effect.die("the process dies here")), sql.withTransaction, Effect.exit)
      expect((yield* balanceOf(org)).balance_eur).toBe(0.5)
      const finished = yield* Effect.forEach(
        [...nodes, ...nodes],
        (node, i) => (i % 2 === 0 ? node.settle(message(org, "a")) : node.release(message(org, "a"))),
        { concurrency: "unbounded" }
      )
      expect(finished.filter((first) => first)).toHaveLength(1)
      const paid = finished.findIndex((first) => first) % 2 === 0
      expect((yield* entries(org)).slice(2)).toEqual(
        paid ? ["sms_hold_release 0.5 1", "sms -0.5 0.5"] : ["sms_hold_release 0.5 1"]
      )
    })
  )

  it.scoped("under any interleaving the balance is exact and never below 0, and each purpose ends once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const billing = yield* Billing
      const nodes = [yield* Holds, yield* another]
      const step = fc.record({
        node: fc.constantFrom(0, 1),
        // Few purposes, so that steps of one meet.
        reference: fc.integer({ min: 0, max: 7 }).map(String),
        act: fc.constantFrom("hold", "hold", "settle", "release", "top-up"),
        /** Whether the process dies before the commit. */
        dies: fc.integer({ min: 0, max: 4 }).map((n) => n === 0)
      })
      /** EUR / 10000, fixed per purpose. */
      const price = (reference: string) => BigDecimal.make(BigInt(900 + Number(reference) * 37), 4)
      const runs = fc.sample(fc.array(step, { minLength: 10, maxLength: 30 }), { numRuns: 12, seed: 11 })
      for (const [run, steps] of runs.entries()) {
        const org = yield* organization("payg", "0.3")
        const held = yield* Ref.make<ReadonlyArray<string>>([])
        const ended = yield* Ref.make<ReadonlyArray<readonly [reference: string, act: string]>>([])
        const added = yield* Ref.make(0n)
        yield* Effect.forEach(
          steps.entries(),
          ([place, { act, dies, node, reference }]) =>
            Effect.gen(function* () {
              const holds = yield* Effect.fromNullable(nodes[node])
              const purpose = message(org, reference)
              if (act === "top-up") {
                yield* billing.add(org, eur("0.05"), `${run}-${place}`)
                return yield* Ref.update(added, (n) => n + 500n)
              }
              const work =
                act === "hold"
                  ? Effect.as(holds.hold(purpose, price(reference)), true)
                  : act === "settle"
                    ? holds.settle(purpose)
                    : holds.release(purpose)
              const last = dies ? Effect.die("the process dies here") : Effect.void
              const done = yield* work.pipe(Effect.tap(last), sql.withTransaction, Effect.sandbox, Effect.option)
              if (done._tag === "None" || !done.value) return
              if (act === "hold") return yield* Ref.update(held, (all) => [...all, reference])
              yield* Ref.update(ended, (all) => [...all, [reference, act] as const])
            }),
          { concurrency: 4, discard: true }
        )
        const ends = yield* ended.get
        const references = ends.map(([reference]) => reference)
        expect(new Set(references).size).toBe(references.length)
        const taken = [...new Set(yield* held.get)]
        expect(references.filter((reference) => !taken.includes(reference))).toEqual([])
        const kept = taken.filter((reference) => !ends.some(([one, act]) => one === reference && act === "release"))
        const spent = BigDecimal.sumAll(kept.map(price))
        const expected = BigDecimal.subtract(BigDecimal.make(3000n + (yield* added.get), 4), spent)
        expect((yield* balanceOf(org)).balance_eur).toBe(BigDecimal.unsafeToNumber(expected))
        const after = (yield* entries(org)).map((entry) => Number(entry.split(" ")[2]))
        expect(Math.min(...after)).toBeGreaterThanOrEqual(0)
        expect(yield* faults(org)).toEqual([])
      }
    })
  )
})
