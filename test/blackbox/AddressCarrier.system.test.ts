import { fileURLToPath } from "node:url"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Effect, Redacted } from "effect"
import type { ApiClient } from "../src/blackbox/ApiClient.ts"
import * as Api from "../src/blackbox/ApiClient.ts"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const plugin = fileURLToPath(new URL("../fixtures/carrier/Plugin.mjs", import.meta.url))

const verdicts = (status: string) => [{ type: "local", status, rejection_reason: null }]
const value = (of: unknown): CustomerServer.Answer => ({ json: { value: of } })

/** How a carrier answers: every operation at once and well, unless the test says otherwise. */
const usual = ({ body, event }: CustomerServer.Received): CustomerServer.Answer => {
  switch (event) {
    case "requirements":
      return value({ fields: [], number_types: ["local"] })
    case "submit":
      return value({ submission_id: `s-${textAt(body, "key")}` })
    default:
      return value(verdicts("verified"))
  }
}

/** A carrier that outlives the servers which ask it; `behaviour` may be changed. */
const startCarrier = Effect.gen(function* () {
  const carrier: { behaviour: CustomerServer.Behaviour } = { behaviour: usual }
  const server = yield* CustomerServer.start((request) => carrier.behaviour(request))
  const database = yield* TestDatabase.freshUrl
  const keys = yield* ServerProcess.newKeys
  return {
    carrier,
    server,
    start: ServerProcess.start({
      data: { url: database },
      keys,
      env: { SVC_PLUGINS: `${plugin},@svc/plugin-simulated`, SVC_CARRIER_URL: server.url }
    }),
    /** How often each customer was submitted, and with how many keys. */
    submissions: () => {
      const found = new Map<string, Array<string>>()
      for (const { body } of server.of("submit")) {
        const customer = textAt(body, "address.customer_name")
        found.set(customer, [...(found.get(customer) ?? []), textAt(body, "key")])
      }
      return found
    },
    /** The events of all addresses, by address, in their order. */
    events: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ readonly id: string; readonly events: ReadonlyArray<string> }>`
        select data ->> 'address_id' as id, array_agg(event order by seq) as events
        from events where event like 'address.%' group by 1`
      return new Map(rows.map(({ events, id }) => [id, events]))
    }).pipe(Effect.provide(pool(Redacted.value(database), 1)), Effect.orDie)
  }
})

const create = (api: ApiClient, customer_name: string) =>
  Effect.map(
    api.post("/v1/addresses", { customer_name, street: "A 1", city: "B", postcode: "C", country: "NL" }),
    ({ body }) => textAt(body, "address.id")
  )

const reaches = (api: ApiClient, id: string, status: string) =>
  eventually(`${status} of ${id}`, api.get(`/v1/addresses/${id}`), ({ body }) => at(body, "address.status") === status)

const names = (count: number) => Array.from({ length: count }, (_, n) => `customer ${n}`)
const once = ["address.verification.pending", "address.verification.verified"]

describe("The carrier of addresses", () => {
  it.scopedLive(
    "gets each address under one key, also those that a server killed with -9 had or had not submitted",
    () =>
      Effect.gen(function* () {
        const { carrier, events, server, start, submissions } = yield* startCarrier
        // It takes every submission, and its answers never arrive.
        carrier.behaviour = (request) => (request.event === "submit" ? undefined : usual(request))
        const first = yield* start
        const ids = yield* Effect.forEach(names(15), (customer) => create(first.api, customer))
        yield* eventually(
          "the submissions that are made at once",
          Effect.sync(() => server.of("submit").length),
          (count) => count === 10
        )
        yield* first.signal("SIGKILL")
        yield* first.exit()
        // The others were committed only.
        expect(submissions().size).toBe(10)
        carrier.behaviour = usual
        const second = yield* start
        for (const id of ids) yield* reaches(second.api, id, "verified")
        const counts = [...submissions().values()].map((keys) => [keys.length, new Set(keys).size].join(" with "))
        expect(counts.toSorted()).toEqual([...Array(5).fill("1 with 1"), ...Array(10).fill("2 with 1")])
        const emitted = yield* events
        expect(ids.map((id) => emitted.get(id))).toEqual(ids.map(() => once))
      }),
    { concurrent: true, timeout: 120_000 }
  )

  it.scopedLive(
    "may hang or answer nonsense: nothing changes, the log names it, and other addresses go on",
    () =>
      Effect.gen(function* () {
        const { carrier, events, start } = yield* startCarrier
        const nonsense: ReadonlyArray<unknown> = [
          null,
          verdicts("expired"),
          [{ type: "satellite", status: "verified", rejection_reason: null }],
          verdicts("partially_verified"),
          [...verdicts("verified"), ...verdicts("rejected")]
        ]
        const isOf = (body: unknown, keys: ReadonlyMap<string, string>, customer: string) =>
          keys.get(textAt(body, "submission_id")) === customer
        const customers = new Map<string, string>()
        let asked = 0
        carrier.behaviour = (request) => {
          if (request.event === "submit") {
            customers.set(`s-${textAt(request.body, "key")}`, textAt(request.body, "address.customer_name"))
          }
          if (request.event === "status" && isOf(request.body, customers, "hang")) return undefined
          if (request.event === "status" && isOf(request.body, customers, "nonsense")) {
            const answer = nonsense[asked++]
            return answer === undefined ? usual(request) : value(answer)
          }
          // The demands of a country may be nonsense too, or never come.
          if (request.event === "requirements" && request.body["country"] === "DE") return value({ fields: "all" })
          return usual(request)
        }
        const { api, output } = yield* start
        const hanging = yield* create(api, "hang")
        const wrong = yield* create(api, "nonsense")
        yield* reaches(api, yield* create(api, "good"), "verified")
        const german = yield* api.post("/v1/addresses", {
          customer_name: "German",
          street: "A 1",
          city: "B",
          postcode: "C",
          country: "DE"
        })
        expect(german).toMatchObject({ status: 201, body: { address: { status: "pending", number_types: [] } } })
        yield* reaches(api, textAt(german.body, "address.id"), "verified")
        // Each nonsense is followed by another question; the sense at the end counts.
        yield* eventually(
          "the nonsense",
          Effect.sync(() => asked),
          (count) => count >= 3
        )
        expect(yield* api.get(`/v1/addresses/${wrong}`)).toMatchObject({
          body: { address: { status: "pending", number_types: verdicts("pending") } }
        })
        expect((yield* events).get(wrong)).toEqual(["address.verification.pending"])
        expect(output()).toMatch(new RegExp(`Address ${wrong} could not be asked about at carrier`))
        expect(output()).toContain(`answer of carrier about address ${wrong} `)
        yield* reaches(api, wrong, "verified")
        expect((yield* events).get(wrong)).toEqual(once)
        expect(yield* api.get(`/v1/addresses/${hanging}`)).toMatchObject({ body: { address: { status: "pending" } } })
        expect((yield* api.request("DELETE", `/v1/addresses/${hanging}`)).body).toEqual({ deleted: true })
        expect((yield* events).get(hanging)).toEqual(["address.verification.pending"])
      }),
    { concurrent: true, timeout: 120_000 }
  )

  it.scopedLive(
    "is asked by two servers at once, and each step of an address happens and is delivered once",
    () =>
      Effect.gen(function* () {
        const { events, start, submissions } = yield* startCarrier
        const [one, other] = yield* Effect.all([start, start], { concurrency: 2 })
        const receiver = yield* CustomerServer.start(() => ({ json: {} }))
        yield* Api.make(one.url, one.keys.org).post("/v1/webhooks", { url: receiver.url, events: ["*"] })
        const ids = yield* Effect.forEach(
          names(40),
          (customer, n) => create(n % 2 === 0 ? one.api : other.api, customer),
          { concurrency: 8 }
        )
        for (const id of ids) yield* reaches(one.api, id, "verified")
        const counts = new Set([...submissions().values()].map((keys) => keys.length))
        expect([submissions().size, counts]).toEqual([40, new Set([1])])
        const emitted = yield* events
        expect(ids.map((id) => emitted.get(id))).toEqual(ids.map(() => once))
        yield* eventually(
          "the deliveries",
          Effect.sync(() => receiver.inbox.all.length),
          (count) => count >= 80
        )
        const seen = receiver.inbox.all.map(({ body, event }) => `${at(body, "data.address_id")} ${event}`)
        expect(new Set(seen).size).toBe(80)
        expect(seen).toHaveLength(80)
      }),
    { concurrent: true, timeout: 120_000 }
  )
})
