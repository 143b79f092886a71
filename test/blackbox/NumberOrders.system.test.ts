import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { type Reply, textAt } from "../src/blackbox/ApiClient.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as SellingCarrier from "../src/blackbox/SellingCarrier.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const credits = 200
/** US numbers, which need no address. */
const numberOf = (nth: number): string => `+1212555${String(1000 + nth)}`

const prepared = Effect.gen(function* () {
  const carrier = yield* SellingCarrier.start
  const database = yield* TestDatabase.freshUrl
  const options: ServerProcess.ServerOptions = {
    data: { url: database },
    keys: yield* ServerProcess.newKeys,
    env: { ...carrier.env, SVC_BOOTSTRAP_TIER: "payg", SVC_BOOTSTRAP_CREDITS: String(credits) }
  }
  return { carrier, database, options }
})

type Server = ServerProcess.ServerProcess

const buy = ({ api }: Server, number: string) => api.post("/v1/phone-numbers/purchase", { number })
const release = ({ api }: Server, id: string) => api.request("DELETE", `/v1/phone-numbers/${id}`)
const codeOf = ({ body, status }: Reply) => [status, body["code"]]
const balanceOf = ({ api }: Server) => Effect.map(api.get("/v1/credits"), ({ body }) => body["balance_eur"])
const active = ({ api }: Server) =>
  Effect.map(api.get("/v1/phone-numbers?limit=100"), ({ body }) => {
    const listed = body["phone_numbers"]
    return Array.isArray(listed) ? listed.map((one) => textAt(one, "number")).toSorted() : []
  })

/** The debits of rent by number, and what is still held. */
const books = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly number: string; readonly debits: number; readonly held: string }>`
    select split_part(reference, '/', 1) as number, (count(*) filter (where kind = 'number_rent'))::integer as debits,
      sum(amount_eur) filter (where kind <> 'number_rent') as held
    from ledger_entries where kind like 'number_rent%' group by 1 order by 1`
  return {
    debits: Object.fromEntries(rows.filter(({ debits }) => debits > 0).map(({ debits, number }) => [number, debits])),
    held: rows.reduce((sum, { held }) => sum + Number(held), 0)
  }
}).pipe(Effect.orDie)

/** Waits until this many sessions of the database wait for a lock. */
const lockWaiters = (count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const waiting = sql<{ readonly n: number }>`
      select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    yield* eventually("the locks", waiting, ([row]) => row?.n === count)
  })

/** The steps at which the server is killed. */
const bought = {
  beforeHold: numberOf(0),
  beforeCarrier: numberOf(1),
  atCarrier: numberOf(2),
  beforeRow: numberOf(3),
  beforeAnswer: numberOf(4)
}
/** The simulated carrier, which is asked second, does not sell it either. */
const neverSold = "+12125559999"
const released = { beforeRow: numberOf(6), beforeCarrier: numberOf(7), atCarrier: numberOf(8), beforeEnd: numberOf(9) }
/** A number whose rent was not debited for three months. */
const rented = numberOf(10)

describe("An order of a number", () => {
  it.scopedLive(
    "survives a kill of the server at each step: each number is bought, paid and released once, and its rent too",
    () =>
      Effect.gen(function* () {
        const { carrier, database, options } = yield* prepared
        const server = yield* ServerProcess.start(options)
        const ids = new Map<string, string>()
        for (const number of [rented, ...Object.values(released)]) {
          ids.set(number, textAt((yield* buy(server, number)).body, "phone_number.id"))
        }
        const giveBack = (by: Server, number: string) => release(by, ids.get(number) ?? "")
        const got = (event: string, number: string) =>
          eventually(
            `${event} of ${number}`,
            Effect.sync(() => carrier.keysOf(event, number).length),
            (count) => count === 1
          )

        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const later: ReadonlyArray<string> = [bought.beforeRow, bought.beforeAnswer, released.beforeEnd]
          carrier.otherwise = (event, number) => {
            if ([bought.beforeCarrier, neverSold, released.beforeCarrier].includes(number)) return "never"
            if (!/^(purchase|release)$/.test(event)) return undefined
            if (later.includes(number)) return "later"
            return number === bought.atCarrier || number === released.atCarrier ? "never" : undefined
          }
          const forked = (request: Effect.Effect<Reply>) => Effect.forkScoped(Effect.exit(request))
          const { beforeHold, ...ordered } = bought
          for (const number of [bought.beforeCarrier, bought.atCarrier, bought.beforeRow, neverSold]) {
            yield* forked(buy(server, number))
          }
          for (const number of [released.beforeCarrier, released.atCarrier, released.beforeEnd]) {
            yield* forked(giveBack(server, number))
          }
          // The client is gone before the answer of the API.
          const client = yield* Effect.fork(buy(server, bought.beforeAnswer))
          yield* got("purchase", bought.beforeAnswer)
          yield* Fiber.interrupt(client)
          carrier.answerNow(bought.beforeAnswer)
          yield* eventually("the number of the lost answer", active(server), (all) =>
            all.includes(ordered.beforeAnswer)
          )
          for (const number of [bought.beforeCarrier, neverSold]) yield* got("before purchase", number)
          for (const number of [bought.atCarrier, bought.beforeRow]) yield* got("purchase", number)
          yield* got("before release", released.beforeCarrier)
          for (const number of [released.atCarrier, released.beforeEnd]) yield* got("release", number)

          // The steps in which the server writes wait for locks.
          const locked = yield* Deferred.make<void>()
          const killed = yield* Deferred.make<void>()
          const locks = yield* Effect.forkScoped(
            Effect.gen(function* () {
              yield* sql`select pg_advisory_xact_lock(hashtextextended('phone number ' || ${beforeHold}, 0))`
              yield* sql`
                select 1 from number_orders where number in (${bought.beforeRow}, ${released.beforeEnd}) for update`
              yield* sql`select 1 from phone_numbers where number = ${released.beforeRow} for update`
              yield* Deferred.succeed(locked, undefined)
              yield* Deferred.await(killed)
            }).pipe(sql.withTransaction)
          )
          yield* Deferred.await(locked)
          yield* forked(buy(server, beforeHold))
          yield* forked(giveBack(server, released.beforeRow))
          carrier.answerNow(bought.beforeRow)
          carrier.answerNow(released.beforeEnd)
          yield* lockWaiters(4)
          yield* server.signal("SIGKILL")
          expect((yield* server.exit()).signal).toBe("SIGKILL")
          yield* Deferred.succeed(killed, undefined)
          yield* Fiber.join(locks)
          const sold = carrier.carriedOut.filter(({ event }) => event === "purchase").map(({ number }) => number)
          expect(sold).not.toContain(beforeHold)
          expect(sold).toEqual(expect.arrayContaining([bought.atCarrier, bought.beforeRow, bought.beforeAnswer]))

          // Months in which no server ran. Both new servers look for rent that is due.
          yield* sql`
            update phone_numbers set purchased_at = now() - interval '3 months 1 day',
              rent_paid_until = now() - interval '2 months 1 day' where number = ${rented}`
          yield* sql`delete from cron_jobs where job = 'numbers.rent'`
          carrier.otherwise = (event, number) =>
            event === "purchase" && number === neverSold
              ? { json: { refused: "This number was just sold." } }
              : undefined
          const [next, other] = yield* Effect.all([ServerProcess.start(options), ServerProcess.start(options)], {
            concurrency: 2
          })

          // The same requests again, while the orders of the dead server go on.
          const inUse = [409, "PHONE_NUMBER_IN_USE"]
          expect((yield* buy(next, beforeHold)).status).toBe(201)
          for (const number of Object.values(ordered)) {
            const again = yield* buy(next, number)
            expect([inUse, [201, undefined]]).toContainEqual(codeOf(again))
          }
          expect(codeOf(yield* giveBack(next, released.beforeRow))).toEqual([200, undefined])
          for (const number of [released.beforeCarrier, released.atCarrier, released.beforeEnd]) {
            expect(codeOf(yield* giveBack(next, number))).toEqual([404, "PHONE_NUMBER_NOT_FOUND"])
          }

          const owned = [rented, ...Object.values(bought)].toSorted()
          yield* eventually("the purchases", active(other), (all) => all.length === owned.length)
          expect(yield* active(next)).toEqual(owned)
          const open = sql<{ readonly n: number }>`select count(*) as n from number_orders where status = 'pending'`
          yield* eventually("the end of all orders", open, ([row]) => row?.n === 0)
          expect([...carrier.rented.keys()].toSorted()).toEqual(owned)
          for (const number of owned) expect(codeOf(yield* buy(other, number))).toEqual(inUse)

          // Nothing was ordered twice, whatever the number of attempts; a purchase that ended as refused may begin anew.
          const orders = [...Object.values(bought), ...Object.values(released), rented].map((number) => ({
            number,
            purchases: [1, new Set(carrier.keysOf("purchase", number)).size],
            releases: new Set(carrier.keysOf("release", number)).size
          }))
          const gone: ReadonlyArray<string> = Object.values(released)
          expect(orders).toEqual(
            orders.map(({ number }) => ({ number, purchases: [1, 1], releases: gone.includes(number) ? 1 : 0 }))
          )
          yield* eventually("the rent", books, ({ debits }) => debits[rented] === 4)
          const { debits, held } = yield* books
          const months = [...Object.values(bought), ...gone].map((number) => [number, 1])
          expect([debits, held]).toEqual([Object.fromEntries([...months, [rented, 4]]), 0])
          const paid = Object.values(debits).reduce((sum, count) => sum + count, 0)
          expect(yield* balanceOf(next)).toBe(credits - 5 * paid)

          // What one side only knows of is for the operator.
          carrier.rented.set(neverSold, "id-unknown")
          carrier.rented.delete(bought.atCarrier)
          yield* sql`update number_orders set finished_at = now() - interval '1 hour'`
          const doctor = yield* SvcProcess.run(["doctor"], ServerProcess.environmentOf(options))
          expect(doctor.output).toContain("differences to the numbers of carriers: 2")
          expect(doctor.output).toMatch(`carrier rents ${neverSold} (id-unknown) to this server, and no project has it`)
          expect(doctor.output).toMatch(`${bought.atCarrier} of organization 1 is not among the numbers that carrier`)
        }).pipe(Effect.provide(pool(Redacted.value(database), 4)))
      }),
    { concurrent: true, timeout: 120_000 }
  )

  it.scopedLive(
    "meets a carrier that answers nonsense, late, twice or with a refusal, and is paid for at most once",
    () =>
      Effect.gen(function* () {
        const { carrier, database, options } = yield* prepared
        const server = yield* ServerProcess.start(options)
        const { api } = server

        // Sold, but the answer is about another number; the repetition gets the first answer again.
        const nonsense = numberOf(20)
        let answered = 0
        carrier.otherwise = (event, number) => {
          if (event !== "purchase") return undefined
          if (number === neverSold) return { json: { refused: "This number was just sold." } }
          return number === nonsense && answered++ === 0 ? "nonsense" : undefined
        }
        const unknown = yield* buy(server, nonsense)
        expect(codeOf(unknown)).toEqual([503, "UNAVAILABLE"])
        expect(unknown.body["message"]).toBe(
          `The outcome of the purchase of ${nonsense} is not known yet. Svc repeats the order until the carrier answers. ` +
            "Repeat the request later, or look at the list of phone numbers"
        )
        expect(yield* balanceOf(server)).toBe(credits - 5)
        const joined = yield* eventually("the repeated purchase", buy(server, nonsense), ({ status }) => status !== 503)
        expect([201, 409]).toContain(joined.status)
        yield* eventually("the number", active(server), (all) => all.includes(nonsense))
        expect(new Set(carrier.keysOf("purchase", nonsense)).size).toBe(1)

        // Many at once: one buys it, and the carrier sells it once.
        const wanted = numberOf(21)
        const all = yield* Effect.all(
          Array.from({ length: 6 }, () => buy(server, wanted)),
          { concurrency: "unbounded" }
        )
        expect(all.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409])
        expect(carrier.keysOf("purchase", wanted)).toHaveLength(1)

        const refused = yield* buy(server, neverSold)
        expect(codeOf(refused)).toEqual([422, "PURCHASE_FAILED"])

        // The client has given up before the carrier answers.
        const late = numberOf(22)
        carrier.otherwise = (event, number) => (event === "purchase" && number === late ? "later" : undefined)
        const client = yield* Effect.fork(buy(server, late))
        const isOrdered = (number: string) =>
          eventually(
            "the order",
            Effect.sync(() => carrier.keysOf("purchase", number).length),
            (count) => count === 1
          )
        yield* isOrdered(late)
        yield* Fiber.interrupt(client)
        const again = yield* buy(server, late)
        expect(codeOf(again)).toEqual([409, "PHONE_NUMBER_IN_USE"])
        expect(again.body["message"]).toContain("is being bought by an earlier request")
        carrier.answerNow(late)
        yield* eventually("the late number", active(server), (numbers) => numbers.includes(late))

        // Outside the US and Canada: with an address, which is then in use.
        const dutch = "+31205550123"
        const missing = yield* buy(server, dutch)
        expect([missing.status, missing.body["message"]]).toEqual([400, "address_id is required for this country"])
        const address = yield* api.post("/v1/addresses", {
          customer_name: "Anna",
          street: "Damrak 1",
          city: "Amsterdam",
          postcode: "1012 LG",
          country: "NL"
        })
        const address_id = Number(textAt(address.body, "address.id"))
        expect((yield* api.post("/v1/phone-numbers/purchase", { number: dutch, address_id })).status).toBe(201)
        const inUse = yield* api.request("DELETE", `/v1/addresses/${address_id}`)
        expect(codeOf(inUse)).toEqual([409, "ADDRESS_IN_USE"])
        expect(yield* balanceOf(server)).toBe(credits - 4 * 5)

        // A project is deleted while it buys one number and has another: both are given back, though not at once.
        const byOrg = ApiClient.make(server.url, server.keys.org)
        const project = textAt((yield* byOrg.post("/v1/org/projects", { name: "Short" })).body, "id")
        const inProject = ApiClient.make(server.url, server.keys.org, { "x-project-id": project })
        const [has, buys] = [numberOf(23), numberOf(24)]
        expect((yield* inProject.post("/v1/phone-numbers/purchase", { number: has })).status).toBe(201)
        const busy = new Map<string, number>()
        carrier.otherwise = (event, number) => {
          if (event === "purchase" && number === buys) return "later"
          const tries = busy.get(number) ?? 0
          if (event !== "before release" || tries > 0) return undefined
          busy.set(number, tries + 1)
          return { json: { refused: "Busy." } }
        }
        const buying = yield* Effect.fork(inProject.post("/v1/phone-numbers/purchase", { number: buys }))
        yield* isOrdered(buys)
        expect((yield* byOrg.request("DELETE", `/v1/org/projects/${project}`)).status).toBe(204)
        carrier.answerNow(buys)
        expect(codeOf(yield* Fiber.join(buying))).toEqual([422, "PURCHASE_FAILED"])
        yield* eventually(
          "the releases",
          Effect.sync(() => [has, buys].filter((number) => carrier.rented.has(number))),
          (left) => left.length === 0
        )
        expect([has, buys].map((number) => busy.get(number))).toEqual([1, 1])
        for (const number of [has, buys]) expect(new Set(carrier.keysOf("before release", number)).size).toBe(1)
        expect(yield* balanceOf(server)).toBe(credits - 5 * 5)
        const { debits, held } = yield* Effect.provide(books, pool(Redacted.value(database), 1))
        expect([debits, held]).toEqual([{ [nonsense]: 1, [wanted]: 1, [late]: 1, [dutch]: 1, [has]: 1 }, 0])
        const sales = carrier.carriedOut.filter(({ event }) => event === "purchase").map(({ number }) => number)
        expect(sales.toSorted()).toEqual([...new Set(sales)].toSorted())
      }),
    { concurrent: true, timeout: 120_000 }
  )
})
