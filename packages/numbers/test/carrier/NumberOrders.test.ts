import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { Projects } from "@svc/auth/Projects"
import { Billing } from "@svc/billing/Billing"
import { CarrierRefused, CarrierUnavailable } from "@svc/providers/Carrier"
import { Deferred, Effect, Either, Fiber, Option } from "effect"
import { Addresses } from "../../src/addresses/Addresses.ts"
import { NumberOrders } from "../../src/carrier/NumberOrders.ts"
import { NumberOrdersRepo } from "../../src/carrier/NumberOrdersRepo.ts"
import { OrderFulfilment } from "../../src/carrier/OrderFulfilment.ts"
import { PhoneNumbers } from "../../src/PhoneNumbers.ts"
import { NumbersDouble } from "../CarrierDoubles.ts"
import { ownerWith } from "../Fixture.ts"
import { freshNumber, onDatabase } from "./Fixture.ts"

const carrier = new NumbersDouble()
/** The carrier as it was, after each test. */
const calm = Effect.addFinalizer(() =>
  Effect.sync(() => {
    carrier.beforePurchase = () => Effect.void
    carrier.insteadOfAnswer = () => Effect.void
    carrier.onRelease = () => Effect.void
  })
)
const down = Effect.fail(new CarrierUnavailable({ reason: "down" }))
const ordersFor = (number: string) => carrier.purchases.filter((order) => order.number === number)

const balanceOf = (orgId: number) =>
  Effect.flatMap(Billing, (billing) => Effect.map(billing.account(orgId), ({ balance_eur }) => balance_eur))
/** Kinds and references of an organization's entries after the first. */
const entriesOf = (orgId: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly entry: string }>`
      select kind || ' ' || amount_eur as entry from ledger_entries where org_id = ${orgId} and reference <> 'opening'
      order by id`
  ).pipe(Effect.map((rows) => rows.map(({ entry }) => entry)))

/** What another node does with orders that are due after this one has died. */
const repeatAll = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { carryOut } = yield* OrderFulfilment
  const repo = yield* NumberOrdersRepo
  yield* sql`update number_orders set next_at = now() where status = 'pending'`
  return yield* Effect.forEach(yield* repo.claimDue("node_other", 50), carryOut)
})

layer(onDatabase({ sip: undefined, carrier }), { excludeTestServices: true })("the purchase of a number", (it) => {
  it.scoped("pays the first month, and the number is active with its agent", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("12")
      const { agent } = yield* agents.create(owner, {
        name: "Reception",
        server_url: "https://example.com",
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false
      })
      const number = yield* freshNumber
      const bought = yield* orders.purchase(owner, { number, agent_id: agent.public_id })
      expect(bought).toMatchObject({
        number,
        country: "US",
        type: "local",
        agent_id: agent.public_id,
        address_id: null,
        monthly_cost_eur: 5,
        telephony: "carrier",
        status: "active"
      })
      expect((yield* numbers.list(owner.project, { limit: 5 })).phone_numbers).toEqual([bought])
      expect(yield* balanceOf(owner.org.id)).toBe(7)
      expect(yield* entriesOf(owner.org.id)).toEqual([
        "number_rent_hold -5.0000",
        "number_rent_hold_release 5.0000",
        "number_rent -5.0000"
      ])
      const again = yield* Effect.flip(orders.purchase(owner, { number }))
      expect(again.code).toBe("PHONE_NUMBER_IN_USE")
      expect(ordersFor(number).length).toBe(1)
      expect(Option.isSome(yield* numbers.route(number, "carrier"))).toBe(true)
    })
  )

  it.scoped.each(["+1", "+12125550", "+1212555010012", "+99912345678"])("refuses %s, which is no number", (number) =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const error = yield* Effect.flip(orders.purchase(yield* ownerWith("12"), { number, address_id: 1 }))
      expect([error.code, error.details]).toEqual([
        "VALIDATION_ERROR",
        { number: "must be a valid E.164 phone number" }
      ])
    })
  )

  it.scoped("needs an address outside the US and Canada, of the same project, neither rejected nor expired", () =>
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const orders = yield* NumberOrders
      const sql = yield* SqlClient.SqlClient
      const owner = yield* ownerWith("50")
      const create = (one: typeof owner) =>
        addresses.create(one, {
          customer_name: "Anna de Vries",
          street: "Damrak 1",
          city: "Amsterdam",
          postcode: "1012 LG",
          region: null,
          country: "NL"
        })
      const number = "+31205580001"
      const missing = yield* Effect.flip(orders.purchase(owner, { number }))
      expect([missing.status, missing.details]).toEqual([
        400,
        { address_id: "address_id is required for this country" }
      ])
      const foreign = yield* create(yield* ownerWith("1"))
      for (const address_id of [foreign.id, 999_999_999]) {
        const error = yield* Effect.flip(orders.purchase(owner, { number, address_id }))
        expect(error.details).toEqual({ address_id: "address_id must be the id of an address of this project" })
      }
      const address = yield* create(owner)
      const states = [
        ["rejected", "[]"],
        ["expired", "[]"],
        ["partially_verified", `[{"type":"local","status":"rejected","rejection_reason":"No such street."}]`]
      ] as const
      for (const [status, verdicts] of states) {
        yield* sql`
          update addresses set status = ${status}, number_types = ${verdicts}::jsonb where id = ${address.id}`
        const error = yield* Effect.flip(orders.purchase(owner, { number, address_id: address.id }))
        expect(error.message).toContain("address_id must be an address that is valid for local numbers")
      }
      expect(ordersFor(number)).toEqual([])
      yield* sql`
        update addresses set status = 'pending', number_types = '[]', submission_id = 'sub-1', telephony = 'carrier'
        where id = ${address.id}`
      const bought = yield* orders.purchase(owner, { number, address_id: address.id })
      expect(bought.address_id).toBe(address.id)
      expect(ordersFor(number)).toMatchObject([{ address: { city: "Amsterdam", submission_id: "sub-1" } }])
      const inUse = yield* Effect.flip(addresses.remove(owner.project, String(address.id)))
      expect(inUse.code).toBe("ADDRESS_IN_USE")
    })
  )

  it.scoped("keeps its address from being deleted while it is pending, and its own copy no longer", () =>
    Effect.gen(function* () {
      yield* calm
      const addresses = yield* Addresses
      const orders = yield* NumberOrders
      const sql = yield* SqlClient.SqlClient
      const owner = yield* ownerWith("50")
      const { id } = yield* addresses.create(owner, {
        customer_name: "Anna de Vries",
        street: "Damrak 1",
        city: "Amsterdam",
        postcode: "1012 LG",
        region: null,
        country: "NL"
      })
      const number = "+31205580002"
      const copies = sql<{ readonly name: string | null }>`
        select address ->> 'customer_name' as name from number_orders where number = ${number} order by id`
      carrier.beforePurchase = () => down
      yield* Effect.flip(orders.purchase(owner, { number, address_id: id }))
      expect((yield* Effect.flip(addresses.remove(owner.project, String(id)))).code).toBe("ADDRESS_IN_USE")
      expect(yield* copies).toEqual([{ name: "Anna de Vries" }])
      carrier.beforePurchase = () => Effect.fail(new CarrierRefused({ reason: "Sold." }))
      yield* Effect.flip(orders.purchase(owner, { number, address_id: id }))
      expect(yield* copies).toEqual([{ name: null }])
      yield* addresses.remove(owner.project, String(id))
    })
  )

  it.scoped("that an earlier request of the project is carrying out is 409 and says so, to others only 409", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const [owner, other] = [yield* ownerWith("50"), yield* ownerWith("50")]
      const number = yield* freshNumber
      const arrived = yield* Deferred.make<void>()
      const mayGoOn = yield* Deferred.make<void>()
      const hold = Effect.zipRight(Deferred.succeed(arrived, undefined), Deferred.await(mayGoOn))
      carrier.beforePurchase = () => hold
      const first = yield* Effect.fork(orders.purchase(owner, { number }))
      yield* Deferred.await(arrived)
      const again = yield* Effect.flip(orders.purchase(owner, { number }))
      const foreign = yield* Effect.flip(orders.purchase(other, { number }))
      expect([again.code, foreign.code]).toEqual(["PHONE_NUMBER_IN_USE", "PHONE_NUMBER_IN_USE"])
      expect(again.message).toContain(`${number} is being bought by an earlier request`)
      expect(foreign.message).toBe("phone number is already registered")
      yield* Deferred.succeed(mayGoOn, undefined)
      const { id } = yield* Fiber.join(first)
      carrier.onRelease = () => down
      yield* orders.release(owner.project, String(id))
      const released = yield* Effect.flip(orders.purchase(owner, { number }))
      expect([released.code, released.message]).toEqual([
        "PHONE_NUMBER_IN_USE",
        `${number} is being released at its carrier: repeat the request later`
      ])
      carrier.onRelease = () => Effect.void
      yield* repeatAll
    })
  )

  it.scoped("that the credits do not cover is 402, and the carrier gets no order", () =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const owner = yield* ownerWith("4.99")
      const number = yield* freshNumber
      const error = yield* Effect.flip(orders.purchase(owner, { number }))
      expect(error.code).toBe("INSUFFICIENT_CREDITS")
      expect(ordersFor(number)).toEqual([])
      expect(yield* balanceOf(owner.org.id)).toBe(4.99)
      // Nothing is left that would keep others from buying it.
      yield* orders.purchase(yield* ownerWith("5"), { number })
    })
  )

  it.scoped("that the carrier refuses is 422 with its reason, and costs nothing", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("10")
      const number = yield* freshNumber
      carrier.beforePurchase = () => Effect.fail(new CarrierRefused({ reason: "This number was just sold." }))
      const error = yield* Effect.flip(orders.purchase(owner, { number }))
      expect([error.status, error.code, error.message]).toEqual([422, "PURCHASE_FAILED", "This number was just sold."])
      expect(yield* balanceOf(owner.org.id)).toBe(10)
      expect((yield* numbers.list(owner.project, { limit: 5 })).phone_numbers).toEqual([])
      carrier.beforePurchase = () => Effect.void
      yield* orders.purchase(owner, { number })
      const [first, second] = ordersFor(number)
      expect(second?.key).not.toBe(first?.key)
    })
  )

  it.scoped("with an unknown outcome is 503; the same request joins it, and it is bought and paid once", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const [owner, other] = [yield* ownerWith("20"), yield* ownerWith("20")]
      const number = yield* freshNumber
      carrier.insteadOfAnswer = () => down
      const error = yield* Effect.flip(orders.purchase(owner, { number }))
      expect([error.status, error.code]).toEqual([503, "UNAVAILABLE"])
      expect(yield* balanceOf(owner.org.id)).toBe(15)
      // Of nobody else, and not with another order.
      for (const [who, body] of [
        [other, { number }],
        [owner, { number, agent_id: null, address_id: null }]
      ] as const) {
        const again = yield* Effect.flip(orders.purchase(who, body))
        expect(again.code).toBe(who === other ? "PHONE_NUMBER_IN_USE" : "UNAVAILABLE")
      }
      const numbers = yield* PhoneNumbers
      const imported = yield* Effect.flip(numbers.import(other, { number, telephony: "sip" }))
      expect(imported.code).toBe("PHONE_NUMBER_IN_USE")
      carrier.insteadOfAnswer = () => Effect.void
      yield* orders.purchase(owner, { number })
      expect(new Set(ordersFor(number).map(({ key }) => key)).size).toBe(1)
      expect(yield* balanceOf(owner.org.id)).toBe(15)
      expect((yield* entriesOf(owner.org.id)).filter((entry) => entry.startsWith("number_rent -"))).toEqual([
        "number_rent -5.0000"
      ])
    })
  )

  it.scoped("with an unknown outcome is repeated with its key by another node, also with the refusal", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("20")
      const [bought, refused] = [yield* freshNumber, yield* freshNumber]
      carrier.insteadOfAnswer = () => down
      yield* Effect.flip(orders.purchase(owner, { number: bought }))
      carrier.insteadOfAnswer = () => Effect.void
      carrier.beforePurchase = () => down
      yield* Effect.flip(orders.purchase(owner, { number: refused }))
      expect(yield* balanceOf(owner.org.id)).toBe(10)
      carrier.rented.set(refused, { number: refused, carrier_id: "somebody's" })
      carrier.beforePurchase = () => Effect.void
      const outcomes = yield* repeatAll
      expect(outcomes.map(({ _tag }) => _tag).sort()).toEqual(["Bought", "Refused"])
      expect(yield* balanceOf(owner.org.id)).toBe(15)
      const { phone_numbers } = yield* numbers.list(owner.project, { limit: 5 })
      expect(phone_numbers.map(({ number }) => number)).toEqual([bought])
      expect(yield* repeatAll).toEqual([])
    })
  )

  it.scoped("at once with another of the same number: one wins, the others are 409", () =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const owners = [yield* ownerWith("20"), yield* ownerWith("20"), yield* ownerWith("20")]
      const number = yield* freshNumber
      const results = yield* Effect.forEach(
        [...owners, ...owners],
        (one) => Effect.either(orders.purchase(one, { number })),
        {
          concurrency: "unbounded"
        }
      )
      const codes = results.map(Either.match({ onLeft: ({ code }) => code, onRight: () => "bought" })).sort()
      expect(codes).toEqual([...Array.from({ length: 5 }, () => "PHONE_NUMBER_IN_USE"), "bought"])
      const balances = yield* Effect.forEach(owners, ({ org }) => balanceOf(org.id))
      expect(balances.sort()).toEqual([15, 20, 20])
    })
  )

  it.scoped("goes on when its request is interrupted", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("20")
      const number = yield* freshNumber
      const arrived = yield* Deferred.make<void>()
      const mayGoOn = yield* Deferred.make<void>()
      carrier.insteadOfAnswer = () => Effect.zipRight(Deferred.succeed(arrived, undefined), Deferred.await(mayGoOn))
      const request = yield* Effect.fork(orders.purchase(owner, { number }))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(request)
      yield* Deferred.succeed(mayGoOn, undefined)
      const listed = Effect.map(numbers.list(owner.project, { limit: 5 }), ({ phone_numbers }) => phone_numbers.length)
      yield* Effect.repeat(listed, { until: (count) => count === 1 })
      expect(yield* balanceOf(owner.org.id)).toBe(15)
    })
  )

  it.scoped("whose project was deleted in the meantime is ended at the carrier and costs nothing", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const projects = yield* Projects
      const owner = yield* ownerWith("20")
      const number = yield* freshNumber
      carrier.insteadOfAnswer = () => down
      yield* Effect.flip(orders.purchase(owner, { number }))
      carrier.insteadOfAnswer = () => Effect.void
      yield* projects.remove(owner.org.id, owner.project.public_id)
      expect((yield* repeatAll).map(({ _tag }) => _tag)).toEqual(["Refused"])
      expect(yield* balanceOf(owner.org.id)).toBe(20)
      expect((yield* repeatAll).map(({ _tag }) => _tag)).toEqual(["Released"])
      expect(carrier.rented.has(number)).toBe(false)
    })
  )
})

layer(onDatabase({ sip: undefined, carrier }), { excludeTestServices: true })("the release of a number", (it) => {
  it.scoped("takes effect at once, and is repeated at the carrier with one key until it confirms", () =>
    Effect.gen(function* () {
      yield* calm
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("20")
      const number = yield* freshNumber
      const { id } = yield* orders.purchase(owner, { number })
      const stranger = yield* ownerWith("20")
      for (const wrong of [String(id + 1_000_000), "", "x", "0", `${id}x`]) {
        expect((yield* Effect.flip(orders.release(owner.project, wrong))).code).toBe("PHONE_NUMBER_NOT_FOUND")
      }
      expect((yield* Effect.flip(orders.release(stranger.project, String(id)))).code).toBe("PHONE_NUMBER_NOT_FOUND")
      const asked = yield* Deferred.make<void>()
      carrier.onRelease = () => Effect.zipRight(Deferred.succeed(asked, undefined), down)
      yield* orders.release(owner.project, String(id))
      expect(Option.isNone(yield* numbers.route(number, "carrier"))).toBe(true)
      expect((yield* numbers.list(owner.project, { limit: 5 })).phone_numbers).toEqual([])
      expect((yield* Effect.flip(orders.release(owner.project, String(id)))).code).toBe("PHONE_NUMBER_NOT_FOUND")
      yield* Deferred.await(asked)
      // A later purchase must not be ended by this release.
      expect((yield* Effect.flip(orders.purchase(stranger, { number }))).code).toBe("PHONE_NUMBER_IN_USE")
      carrier.onRelease = () => Effect.void
      expect((yield* repeatAll).map(({ _tag }) => _tag)).toEqual(["Released"])
      const keys = carrier.releases.filter((one) => one.number === number).map(({ key }) => key)
      expect([keys.length, new Set(keys).size]).toEqual([2, 1])
      expect((yield* orders.purchase(stranger, { number })).number).toBe(number)
    })
  )

  it.scoped("that was imported asks nothing of the carrier", () =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const numbers = yield* PhoneNumbers
      const owner = yield* ownerWith("0")
      const number = yield* freshNumber
      carrier.rented.set(number, { number, carrier_id: "own" })
      const { id } = yield* numbers.import(owner, { number, telephony: "carrier" })
      yield* orders.release(owner.project, String(id))
      expect(yield* repeatAll).toEqual([])
      expect(carrier.rented.has(number)).toBe(true)
      yield* numbers.import(owner, { number, telephony: "carrier" })
    })
  )

  it.scoped("happens at the carrier for all bought numbers of a deleted project", () =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const projects = yield* Projects
      const owner = yield* ownerWith("20")
      const bought = [yield* freshNumber, yield* freshNumber]
      yield* Effect.forEach(bought, (number) => orders.purchase(owner, { number }))
      yield* projects.remove(owner.org.id, owner.project.public_id)
      expect((yield* repeatAll).map(({ _tag }) => _tag)).toEqual(["Released", "Released"])
      expect(bought.filter((number) => carrier.rented.has(number))).toEqual([])
    })
  )
})
