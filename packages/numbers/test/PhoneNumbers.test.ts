import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { E164 } from "@svc/api/Wire"
import { Accounts } from "@svc/auth/Accounts"
import { TestDatabase } from "@svc/database/TestDatabase"
import { CarrierUnavailable, type Numbers, type OwnedNumber } from "@svc/providers/Carrier"
import { Effect, Layer, Option, Schema } from "effect"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { owner, services } from "./Fixture.ts"

/** What the carrier that lists its numbers answers, and how often it was asked. */
const carrier: { asked: number; owned: Effect.Effect<ReadonlyArray<OwnedNumber>, CarrierUnavailable> } = {
  asked: 0,
  owned: Effect.succeed([])
}
const carrierNumbers: Numbers = {
  search: () => Effect.die("not asked"),
  purchase: () => Effect.die("not asked"),
  release: () => Effect.die("not asked"),
  owned: Effect.suspend(() => {
    carrier.asked++
    return carrier.owned
  })
}
/** Gives the carrier these numbers. */
const renting = (...numbers: ReadonlyArray<string>) =>
  Effect.sync(() => {
    carrier.owned = Effect.succeed(numbers.map((number) => ({ number, carrier_id: `id-${number}` })))
  })

const Test = services({ simulated: undefined, sip: undefined, carrier: { numbers: carrierNumbers } }).pipe(
  Layer.provideMerge(TestDatabase.layer)
)

const agentOf = (principal: ProjectPrincipal) =>
  Effect.flatMap(Agents, (agents) =>
    agents.create(principal, {
      name: "Reception",
      server_url: "https://example.com",
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: false,
      end_call_enabled: false
    })
  ).pipe(Effect.map(({ agent }) => agent))

let last = 0
/** A number that no other test uses. */
const freshNumber = Effect.sync(() => `+3120${(1_000_000 + last++).toString()}`)
const imported = (principal: ProjectPrincipal) =>
  Effect.gen(function* () {
    const numbers = yield* PhoneNumbers
    return yield* numbers.import(principal, { number: yield* freshNumber, telephony: "simulated" })
  })

describe("the number of an import", () => {
  const accepted = Schema.is(E164)
  it.each([
    undefined,
    null,
    5,
    "",
    "31201234567",
    "+0201234567",
    "+31",
    "+31 20 123 4567",
    "+3120123456789012",
    "+31201234567\n",
    "+31\u0000201234567",
    ["+31201234567"]
  ])("%j is no E.164 number", (number) => {
    expect(accepted(number)).toBe(false)
  })
})

layer(Test)("PhoneNumbers", (it) => {
  it.effect("an imported number is active, free, and has its country and type", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const number = yield* numbers.import(principal, { number: "+31612345678", telephony: "sip" })
      expect(number).toMatchObject({
        number: "+31612345678",
        country: "NL",
        type: "mobile",
        agent_id: null,
        address_id: null,
        monthly_cost_eur: 0,
        telephony: "sip",
        status: "active"
      })
      expect(number.purchased_at).toMatch(/Z$/)
      expect((yield* numbers.list(principal.project, { limit: 5 })).phone_numbers).toEqual([number])
    })
  )
  it.effect.each(["", "Simulated", "twilio", "simulated ", "\u0000", "sip,simulated"])(
    "telephony %j is refused, because no such plugin is loaded",
    (telephony) =>
      Effect.gen(function* () {
        const numbers = yield* PhoneNumbers
        const body = { number: yield* freshNumber, telephony }
        const error = yield* Effect.flip(numbers.import(yield* owner, body))
        expect(error.details).toEqual({ telephony: "telephony must be one of: simulated, sip, carrier" })
      })
  )
  it.effect("a number is active once in the system, also when it is imported concurrently", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const sql = yield* SqlClient.SqlClient
      const body = { number: yield* freshNumber, telephony: "simulated" }
      const principals = yield* Effect.all([owner, owner, owner])
      const results = yield* Effect.forEach(principals, (one) => Effect.either(numbers.import(one, body)), {
        concurrency: "unbounded"
      })
      expect(results.map((one) => (one._tag === "Right" ? "made" : one.left.code)).sort()).toEqual([
        "PHONE_NUMBER_IN_USE",
        "PHONE_NUMBER_IN_USE",
        "made"
      ])
      yield* sql`update phone_numbers set status = 'released' where number = ${body.number}`
      yield* numbers.import(yield* owner, body)
    })
  )

  it.effect("a number is imported only if the carrier that lists its numbers has it", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const [ours, others] = [yield* freshNumber, yield* freshNumber]
      yield* renting(ours)
      const imported = yield* numbers.import(principal, { number: ours, telephony: "carrier" })
      expect(imported).toMatchObject({ number: ours, telephony: "carrier", status: "active" })
      const error = yield* Effect.flip(numbers.import(principal, { number: others, telephony: "carrier" }))
      expect([error.code, error.details]).toEqual([
        "VALIDATION_ERROR",
        { number: "number must be in the account of carrier that this server uses; buy or port it there first" }
      ])
      // Of a network that cannot list its numbers nothing is demanded.
      yield* numbers.import(principal, { number: others, telephony: "sip" })
      const page = yield* numbers.list(principal.project, { limit: 5 })
      expect(page.phone_numbers.map(({ number }) => number)).toEqual([others, ours])
    })
  )
  it.effect("no number is imported while the carrier cannot be asked: 503, and the next attempt works", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const body = { number: yield* freshNumber, telephony: "carrier" }
      carrier.owned = Effect.fail(new CarrierUnavailable({ reason: "carrier: 500 secret" }))
      const error = yield* Effect.flip(numbers.import(principal, body))
      expect([error.code, error.message]).toEqual([
        "UNAVAILABLE",
        "carrier could not be asked whether it has this number; try again later"
      ])
      expect((yield* numbers.list(principal.project, { limit: 5 })).phone_numbers).toEqual([])
      yield* renting(body.number)
      yield* numbers.import(principal, body)
    })
  )
  it.effect.each(["sip", "carrier"])(
    "PHONE_NUMBER_IN_USE is the same, by the same steps, whoever has the number (%s)",
    (telephony) =>
      Effect.gen(function* () {
        const numbers = yield* PhoneNumbers
        const accounts = yield* Accounts
        const sql = yield* SqlClient.SqlClient
        const holder = yield* owner
        const body = { number: yield* freshNumber, telephony }
        yield* renting(body.number)
        yield* numbers.import(holder, body)
        const sibling = yield* accounts.createProject(holder.org.id, { name: "Second", description: null })
        const tried = yield* Effect.forEach([holder, { ...holder, project: sibling }, yield* owner], (principal) =>
          Effect.gen(function* () {
            const before = carrier.asked
            const error = yield* Effect.flip(numbers.import(principal, body))
            return { ...error, message: error.message, asked: carrier.asked - before }
          })
        )
        expect(tried[0]).toMatchObject({ code: "PHONE_NUMBER_IN_USE", message: "phone number is already registered" })
        expect(tried[0]?.asked).toBe(telephony === "carrier" ? 1 : 0)
        expect(tried.slice(1)).toEqual([tried[0], tried[0]])
        // An organization whose carrier lacks the number does not learn that it is in use.
        if (telephony === "carrier") {
          yield* renting()
          expect(yield* Effect.flip(numbers.import(yield* owner, body))).toMatchObject({ code: "VALIDATION_ERROR" })
        }
        const rows = yield* sql`select org_id from phone_numbers where number = ${body.number}`
        expect(rows).toEqual([{ org_id: holder.org.id }])
      })
  )

  it.effect("a number is assigned to an agent by public or numeric id, and unassigned", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const agent = yield* agentOf(principal)
      const { id } = yield* imported(principal)
      for (const agentId of [agent.public_id, agent.id, String(agent.id)]) {
        const given = yield* numbers.assign(principal.project, String(id), agentId)
        expect(given).toMatchObject({ id, agent_id: agent.public_id })
        const taken = yield* numbers.assign(principal.project, String(id), null)
        expect(taken.agent_id).toBeNull()
      }
    })
  )
  it.effect("an agent of another project is refused, and the number keeps its agent", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const agent = yield* agentOf(principal)
      const foreign = yield* agentOf(yield* owner)
      const { id } = yield* imported(principal)
      yield* numbers.assign(principal.project, String(id), agent.id)
      for (const agentId of [foreign.public_id, foreign.id, "", "x", "agent_", 0, -1, 999_999_999, "\u0000"]) {
        const error = yield* Effect.flip(numbers.assign(principal.project, String(id), agentId))
        expect(error.code).toBe("VALIDATION_ERROR")
        expect(Object.keys(error.details ?? {})).toEqual(["agent_id"])
      }
      const page = yield* numbers.list(principal.project, { limit: 5 })
      expect(page.phone_numbers[0]?.agent_id).toBe(agent.public_id)
    })
  )
  it.effect("numbers of other projects, released numbers, unknown and malformed ids are not found", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const sql = yield* SqlClient.SqlClient
      const { project, ...principal } = yield* owner
      const foreign = yield* imported(yield* owner)
      const released = yield* imported({ ...principal, project })
      yield* sql`update phone_numbers set status = 'released' where id = ${released.id}`
      for (const id of [foreign.id, released.id, "", "0", "-1", "1.5", "x", "\u0000", "9".repeat(15), "9".repeat(30)]) {
        const error = yield* Effect.flip(numbers.assign(project, String(id), null))
        expect(error.code).toBe("PHONE_NUMBER_NOT_FOUND")
      }
    })
  )

  it.effect("a list is newest first, in pages up to a null next_cursor", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const ids: Array<number> = []
      for (let i = 0; i < 5; i++) ids.unshift((yield* imported(principal)).id)
      yield* imported(yield* owner)
      const seen: Array<number> = []
      let after: string | undefined
      for (const size of [2, 2, 1]) {
        const page = yield* numbers.list(principal.project, { limit: 2, after })
        expect(page.phone_numbers).toHaveLength(size)
        seen.push(...page.phone_numbers.map((one) => one.id))
        after = page.next_cursor ?? undefined
      }
      expect(after).toBeUndefined()
      expect(seen).toEqual(ids)
    })
  )
  it.effect("a cursor outside the project is refused", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const { project } = yield* owner
      const foreign = yield* imported(yield* owner)
      for (const after of [String(foreign.id), "", "x", "-1", "\u0000", "9".repeat(15)]) {
        const error = yield* Effect.flip(numbers.list(project, { limit: 5, after }))
        expect(Object.keys(error.details ?? {})).toEqual(["after"])
      }
    })
  )

  it.effect("a dialled number is routed to its agent, on its own telephony plugin only", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const agent = yield* agentOf(principal)
      const { id, number } = yield* imported(principal)
      const expected = { id, number, org_id: principal.org.id, project_id: principal.project.id }
      expect(yield* numbers.route(number, "simulated")).toEqual(Option.some({ ...expected, agent_id: null }))
      yield* numbers.assign(principal.project, String(id), agent.id)
      const digits = number.slice(1)
      for (const to of [number, digits, `00${digits}`, `+31 (0)20 ${digits.slice(4)}`, ` ${number} `]) {
        expect(yield* numbers.route(to, "simulated")).toEqual(Option.some({ ...expected, agent_id: agent.id }))
      }
      expect(yield* numbers.route(number, "sip")).toEqual(Option.none())
      for (const to of ["", "anonymous", "\u0000", "+31\u000020", "+999", digits.slice(1)]) {
        expect(yield* numbers.route(to, "simulated")).toEqual(Option.none())
      }
    })
  )
  it.effect("a released number has no route", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const sql = yield* SqlClient.SqlClient
      const { id, number } = yield* imported(yield* owner)
      yield* sql`update phone_numbers set status = 'released' where id = ${id}`
      expect(yield* numbers.route(number, "simulated")).toEqual(Option.none())
    })
  )
})
