import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { NodeLease } from "@svc/cluster/NodeLease"
import type { Database } from "@svc/database/Database"
import { TestDatabase } from "@svc/database/TestDatabase"
import { CarrierRefused, CarrierUnavailable } from "@svc/providers/Carrier"
import { Context, Deferred, Effect, Exit, Logger, Ref, Scope, TestClock } from "effect"
import { Addresses } from "../../src/addresses/Addresses.ts"
import { AddressesDouble } from "../CarrierDoubles.ts"
import { owner } from "../Fixture.ts"
import { body, eventsOf, node, settle, until, verdict } from "./Fixture.ts"

const test = (name: string, run: () => Effect.Effect<void, unknown, Database | SqlClient.SqlClient | Scope.Scope>) =>
  it.scoped(name, () => run().pipe(Effect.provide(TestDatabase.layer)))

/** A node, and the owner of a new project on it. */
const started = (telephony: Parameters<typeof node>[0]) =>
  Effect.gen(function* () {
    const context = yield* node(telephony)
    const by = yield* Effect.provide(owner, context)
    return { context, by, addresses: Context.get(context, Addresses) }
  })

const statusOf = (addresses: Context.Tag.Service<Addresses>, by: ProjectPrincipal, id: number) =>
  Effect.map(addresses.get(by.project, String(id)), ({ status }) => status)

/** Collects the messages that are logged. */
const logged = Effect.map(Ref.make<ReadonlyArray<string>>([]), (lines) => ({
  lines: Ref.get(lines),
  layer: Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => Effect.runSync(Ref.update(lines, (all) => [...all, String(message)])))
  )
}))

const verified = [verdict("local", "verified"), verdict("mobile", "verified")]

describe.concurrent("The verification of an address", () => {
  test("submits it once, and emits one event for each state that it reaches", () =>
    Effect.gen(function* () {
      const carrier = new AddressesDouble()
      const rejected = [verdict("local", "rejected", "not found"), verdict("mobile", "rejected", "not found")]
      const partly = [verdict("local", "verified"), verdict("mobile", "rejected", "not local")]
      const answers: { readonly [customer: string]: typeof verified } = { good: verified, bad: rejected, part: partly }
      carrier.onStatus = ({ customer_name }, nth) =>
        Effect.succeed(
          nth === 1
            ? [verdict("local", "pending"), verdict("mobile", "pending")]
            : (answers[customer_name] ?? (nth < 4 ? verified : verified.map((one) => ({ ...one, status: "expired" }))))
        )
      const { addresses, by } = yield* started({ silent: undefined, carrier })
      for (const [customer, status] of [
        ["good", "verified"],
        ["bad", "rejected"],
        ["part", "partially_verified"],
        ["old", "expired"]
      ] as const) {
        const created = yield* addresses.create(by, body(customer))
        expect(created).toMatchObject({
          status: "pending",
          number_types: [verdict("local", "pending"), verdict("mobile", "pending")]
        })
        yield* until(statusOf(addresses, by, created.id), (seen) => seen === status)
        yield* settle
        const address = yield* addresses.get(by.project, String(created.id))
        const { number_types } = address
        const events = yield* eventsOf(created.id)
        const states = status === "expired" ? ["verified", status] : [status]
        expect(events).toEqual(
          ["pending", ...states].map((state) => ({
            event: `address.verification.${state}`,
            project_id: by.project.id,
            agent_id: null,
            data: {
              address_id: created.id,
              status: state,
              ...(state === "pending" ? {} : { number_types: state === status ? number_types : verified })
            }
          }))
        )
        expect(address.status).toBe(status)
        expect(carrier.submissionsOf(customer)).toHaveLength(1)
        expect(carrier.submissions.at(-1)?.address).toEqual(body(customer))
      }
      // Only a verified address can still change.
      const asked = carrier.asked.length
      yield* settle
      expect(new Set(carrier.asked.slice(asked))).toEqual(new Set([`sub-${carrier.submissionsOf("good")[0]}`]))
    }))

  test("is repeated with the same key, less and less often, while the carrier is unavailable", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* logged
      const carrier = new AddressesDouble()
      carrier.onSubmit = (key, nth) =>
        nth < 5 ? new CarrierUnavailable({ reason: "503" }) : Effect.succeed({ submission_id: `sub-${key}` })
      carrier.onStatus = (_, nth) => (nth < 3 ? new CarrierUnavailable({ reason: "504" }) : Effect.succeed(verified))
      const { addresses, by } = yield* Effect.provide(started({ carrier }), log.layer)
      const { id } = yield* addresses.create(by, body("A"))
      const wait = sql<{ readonly attempts: number; readonly ms: number }>`
        select attempts, round(extract(epoch from next_at - now()) * 1000)::integer as ms from addresses
        where id = ${id} and leased_by is null`
      yield* until(wait, ([row]) => row?.attempts === 4)
      yield* until(statusOf(addresses, by, id), (status) => status === "verified")
      expect(new Set(carrier.submissionsOf("A")).size).toBe(1)
      expect(carrier.submissionsOf("A")).toHaveLength(5)
      expect((yield* eventsOf(id)).map(({ event }) => event)).toEqual([
        "address.verification.pending",
        "address.verification.verified"
      ])
      // The first failure in a row is a warning; it names plugin and address.
      expect((yield* log.lines).filter((line) => line.includes("trying again"))).toEqual([
        `Address ${id} could not be submitted to carrier; trying again: 503`,
        `Address ${id} could not be asked about at carrier; trying again: 504`
      ])
      yield* sql`update addresses set status = 'pending', attempts = 11, next_at = now() where id = ${id}`
      carrier.onStatus = () => new CarrierUnavailable({ reason: "504" })
      const [row] = yield* until(wait, ([one]) => one?.attempts === 12)
      expect(row?.ms).toBeGreaterThan(200_000)
    }))

  test("ends as rejected with the carrier's reason when the carrier refuses the address", () =>
    Effect.gen(function* () {
      const carrier = new AddressesDouble()
      carrier.onSubmit = () => new CarrierRefused({ reason: "the street does not exist" })
      const { addresses, by } = yield* started({ carrier })
      const known = yield* addresses.create(by, body("A"))
      carrier.requirements = () => new CarrierUnavailable({ reason: "down" })
      const unknown = yield* addresses.create(by, body("B"))
      expect(unknown.number_types).toEqual([])
      for (const [{ id }, types] of [
        [known, ["local", "mobile"]],
        [unknown, ["local", "mobile", "toll_free"]]
      ] as const) {
        yield* until(statusOf(addresses, by, id), (status) => status === "rejected")
        const number_types = types.map((type) => verdict(type, "rejected", "the street does not exist"))
        expect(yield* addresses.get(by.project, String(id))).toMatchObject({ status: "rejected", number_types })
        expect((yield* eventsOf(id)).at(-1)?.data).toEqual({ address_id: id, status: "rejected", number_types })
      }
      yield* settle
      expect(carrier.submissions).toHaveLength(2)
    }))

  test("changes nothing on an answer that cannot be true, and logs it with plugin and address", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* logged
      const carrier = new AddressesDouble()
      let answer = [verdict("local", "expired")]
      carrier.onStatus = () => Effect.succeed(answer)
      const { addresses, by } = yield* Effect.provide(started({ carrier }), log.layer)
      const { id } = yield* addresses.create(by, body("A"))
      const row = sql`select number_types, status, updated_at from addresses where id = ${id}`
      const before = yield* row
      yield* until(
        Effect.sync(() => carrier.asked.length),
        (asked) => asked >= 3
      )
      expect(yield* row).toEqual(before)
      expect(yield* eventsOf(id)).toHaveLength(1)
      const submission = `sub-${carrier.submissions[0]?.key}`
      expect(yield* log.lines).toContain(
        `The answer of carrier about address ${id} (submission ${submission}) changes nothing: a verification expired that was never completed`
      )
      answer = verified
      yield* until(statusOf(addresses, by, id), (status) => status === "verified")
      answer = [verdict("local", "rejected", "changed our mind")]
      yield* settle
      expect(yield* statusOf(addresses, by, id)).toBe("verified")
      expect(yield* eventsOf(id)).toHaveLength(2)
    }))

  test("submits a pending address again, with its key and ever less often, when the carrier does not know it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* logged
      const carrier = new AddressesDouble()
      let forgets = true
      carrier.onStatus = () =>
        forgets ? new CarrierRefused({ reason: "no such submission" }) : Effect.succeed(verified)
      const { addresses, by } = yield* Effect.provide(started({ carrier }), log.layer)
      const { id } = yield* addresses.create(by, body("A"))
      yield* until(
        sql<{ readonly attempts: number }>`select attempts from addresses where id = ${id} and leased_by is null`,
        ([row]) => row !== undefined && row.attempts >= 3
      )
      const keys = carrier.submissionsOf("A")
      expect([keys.length > 2, new Set(keys).size]).toEqual([true, 1])
      forgets = false
      yield* until(statusOf(addresses, by, id), (status) => status === "verified")
      const submitted = carrier.submissions.length
      forgets = true
      yield* settle
      expect(yield* statusOf(addresses, by, id)).toBe("verified")
      expect(carrier.submissions).toHaveLength(submitted)
      expect(yield* log.lines).toContain(
        `carrier does not know the submission sub-${keys[0]} of address ${id}: no such submission`
      )
    }))

  test("shows the types that are decided while others are pending, without an event", () =>
    Effect.gen(function* () {
      const carrier = new AddressesDouble()
      const half = [verdict("local", "verified"), verdict("mobile", "pending")]
      carrier.onStatus = () => Effect.succeed(half)
      const { addresses, by } = yield* started({ carrier })
      const { id } = yield* addresses.create(by, body("A"))
      const seen = yield* until(
        addresses.get(by.project, String(id)),
        ({ number_types }) => number_types[0]?.status === "verified"
      )
      expect(seen).toMatchObject({ status: "pending", number_types: half })
      expect(yield* eventsOf(id)).toHaveLength(1)
    }))

  test("waits without a plugin that verifies, and is made by the first one that is loaded", () =>
    Effect.gen(function* () {
      const without = yield* started({ silent: undefined })
      const { addresses, by } = without
      const { id, number_types } = yield* addresses.create(by, body("A"))
      expect(number_types).toEqual([])
      yield* settle
      const [first, second] = [new AddressesDouble(), new AddressesDouble()]
      first.onStatus = () => Effect.succeed(verified)
      yield* node({ silent: undefined, first, second })
      yield* until(statusOf(addresses, by, id), (status) => status === "verified")
      expect([first.submissions.length, second.submissions.length]).toEqual([1, 0])
    }))

  test("stays with the plugin that was asked; one that is gone and has not answered loses it to another", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* logged
      const old = new AddressesDouble()
      old.onSubmit = (key) =>
        old.submissions[0]?.key === key
          ? Effect.succeed({ submission_id: `sub-${key}` })
          : new CarrierUnavailable({ reason: "down" })
      const scope = yield* Scope.make()
      const { addresses, by } = yield* Scope.extend(started({ old }), scope)
      const submitted = yield* addresses.create(by, body("A"))
      yield* until(
        Effect.sync(() => old.asked.length),
        (asked) => asked > 0
      )
      const lost = yield* addresses.create(by, body("B"))
      yield* until(
        Effect.sync(() => old.submissionsOf("B").length),
        (tries) => tries > 0
      )
      yield* settle
      yield* Scope.close(scope, Exit.void)
      yield* sql`update addresses set leased_by = null`

      const other = new AddressesDouble()
      other.onStatus = () => Effect.succeed(verified)
      const next = yield* Effect.provide(node({ other }), log.layer)
      yield* until(statusOf(Context.get(next, Addresses), by, lost.id), (status) => status === "verified")
      expect(other.submissionsOf("B")).toEqual([old.submissionsOf("B")[0]])
      expect(other.submissionsOf("A")).toEqual([])
      expect(yield* statusOf(Context.get(next, Addresses), by, submitted.id)).toBe("pending")
      expect(yield* log.lines).toContain(
        "1 addresses were submitted to old, which is not loaded: their verification goes on when it is"
      )
    }))

  test("happens once with several nodes, each of which asks", () =>
    Effect.gen(function* () {
      const carrier = new AddressesDouble()
      carrier.onStatus = (_, nth) =>
        Effect.succeed(nth < 3 ? [verdict("local", "pending"), verdict("mobile", "pending")] : verified)
      const { addresses, by } = yield* started({ carrier })
      yield* node({ carrier })
      yield* node({ carrier })
      const created = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => `customer ${n}`),
        (customer) => addresses.create(by, body(customer))
      )
      yield* until(addresses.list(by.project, { limit: 100 }), (page) =>
        page.addresses.every(({ status }) => status === "verified")
      )
      expect(carrier.submissions).toHaveLength(40)
      for (const { id } of created) {
        expect((yield* eventsOf(id)).map(({ event }) => event)).toEqual([
          "address.verification.pending",
          "address.verification.verified"
        ])
      }
    }))

  test("is one change when two nodes have the same answer at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const carrier = new AddressesDouble()
      const go = yield* Deferred.make<void>()
      carrier.onStatus = () => Effect.as(Deferred.await(go), verified)
      const { addresses, by } = yield* started({ carrier })
      yield* node({ carrier })
      const { id } = yield* addresses.create(by, body("A"))
      // The claim of the first ends while it waits for the carrier.
      for (const count of [1, 2]) {
        yield* until(
          Effect.zipRight(
            sql`update addresses set leased_by = null, next_at = now() where id = ${id}`,
            Effect.sync(() => carrier.asked.length)
          ),
          (asked) => asked >= count
        )
      }
      yield* Deferred.succeed(go, undefined)
      yield* until(statusOf(addresses, by, id), (status) => status === "verified")
      yield* settle
      expect((yield* eventsOf(id)).filter(({ event }) => event.endsWith(".verified"))).toHaveLength(1)
    }))

  test("is taken over from a dead node at once, also between the submission and its answer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const carrier = new AddressesDouble()
      carrier.onSubmit = (key, nth) => (nth === 1 ? Effect.never : Effect.succeed({ submission_id: `sub-${key}` }))
      carrier.onStatus = () => Effect.succeed(verified)
      const scope = yield* Scope.make()
      const { addresses, by, context } = yield* Scope.extend(started({ carrier }), scope)
      const { id } = yield* addresses.create(by, body("A"))
      yield* until(
        Effect.sync(() => carrier.submissions.length),
        (count) => count === 1
      )
      const { id: dead } = yield* Context.get(context, NodeLease).current
      yield* Scope.close(scope, Exit.void)
      // It ended in the middle of the question: its claim stays, and is not due.
      expect(
        yield* sql`select next_at <= now() as due from addresses where id = ${id} and leased_by = ${dead}`
      ).toEqual([{ due: false }])
      const next = yield* node({ carrier })
      yield* until(statusOf(Context.get(next, Addresses), by, id), (status) => status === "verified")
      expect(carrier.submissionsOf("A")).toHaveLength(2)
      expect(new Set(carrier.submissionsOf("A")).size).toBe(1)
    }))

  test("of one address does not wait for a carrier that hangs with another, nor for another carrier", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [hanging, working] = [new AddressesDouble(), new AddressesDouble()]
      hanging.onSubmit = () => Effect.never
      working.onStatus = () => Effect.succeed(verified)
      const { addresses, by } = yield* started({ hanging, working })
      const stuck = yield* Effect.forEach(Array.from({ length: 15 }), () => addresses.create(by, body("stuck")))
      yield* until(
        Effect.sync(() => hanging.submissions.length),
        (count) => count === 10
      )
      const other = yield* addresses.create(by, body("other"))
      yield* sql`update addresses set telephony = 'working' where id = ${other.id}`
      yield* until(statusOf(addresses, by, other.id), (status) => status === "verified")
      expect(yield* statusOf(addresses, by, stuck[0]?.id ?? 0)).toBe("pending")
      // Never more at once than the limit; after the deadline they are submitted again.
      expect(hanging.submissions).toHaveLength(10)
      yield* TestClock.adjust("1 minute")
      hanging.onSubmit = (key) => Effect.succeed({ submission_id: `sub-${key}` })
      hanging.onStatus = () => Effect.succeed(verified)
      for (const { id } of stuck) yield* until(statusOf(addresses, by, id), (status) => status === "verified")
    }))
})
