import { SqlClient } from "@effect/sql"
import { describe, expect, expectTypeOf, it, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { variant } from "@svc/api/EntityFields"
import { PhoneNumber, PhoneNumberAssign, PhoneNumberImport } from "@svc/api/numbers/PhoneNumber"
import { PhoneNumberFields } from "@svc/api/numbers/PhoneNumberFields"
import { Effect, Option, Schema, Struct } from "effect"
import { NumberRoute } from "../src/NumberRoute.ts"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { type NewNumberRow, NumberRow, PhoneNumbersRepo } from "../src/PhoneNumbersRepo.ts"
import { owner, Test } from "./Fixture.ts"

const insert = variant(PhoneNumberFields, "insert")
const change = variant(PhoneNumberFields, "change")
const keysOf = (schema: { readonly fields: object }) => Object.keys(schema.fields)

describe("the list of a phone number's fields", () => {
  it("gives the import number and telephony, and the assignment agent_id, and nothing else", () => {
    expect(keysOf(PhoneNumberImport)).toEqual(["number", "telephony"])
    expect(keysOf(PhoneNumberAssign)).toEqual(["agent_id"])
    expect(keysOf(change)).toEqual(["agent_id", "agent_public_id"])
    expectTypeOf<Pick<NewNumberRow, keyof PhoneNumberImport>>().toEqualTypeOf<PhoneNumberImport>()
  })

  it("keeps what an import writes with the same type in the response and the row", () => {
    const shown = Struct.keys(Struct.omit(insert.fields, "org_id", "project_id", "carrier_id"))
    type Shown = (typeof shown)[number]
    expect(shown).toEqual(["number", "country", "type", "address_id", "monthly_cost_eur", "telephony"])
    expectTypeOf<Pick<PhoneNumber, Shown>>().toEqualTypeOf<Pick<NumberRow, Shown>>()
    expectTypeOf<Pick<NewNumberRow, Shown>>().toEqualTypeOf<Pick<NumberRow, Shown>>()
  })

  it("shows no internal column in responses, and routes a call by columns of the row", () => {
    const hidden = ["org_id", "project_id", "agent_public_id", "carrier_id", "rent_months", "rent_paid_until"]
    expect(keysOf(NumberRow).filter((key) => !keysOf(PhoneNumber).includes(key))).toEqual(hidden)
    expect(keysOf(NumberRoute)).toEqual(["id", "number", "org_id", "project_id", "agent_id"])
    expectTypeOf<NumberRoute>().toEqualTypeOf<Pick<NumberRow, keyof NumberRoute>>()
  })
})

layer(Test)("a phone number with its list of fields", (it) => {
  it.effect("has a column for every field of the row", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string }>`
        select column_name as name from information_schema.columns
        where table_schema = current_schema() and table_name = 'phone_numbers'`
      expect(columns.map(({ name }) => name).toSorted()).toEqual(keysOf(NumberRow).toSorted())
    })
  )

  it.effect("is returned with exactly the fields of the response, in their order, alone and in a list", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const principal = yield* owner
      const imported = yield* numbers.import(principal, { number: "+31203000001", telephony: "simulated" })
      const assigned = yield* numbers.assign(principal.project, String(imported.id), null)
      const page = yield* numbers.list(principal.project, { limit: 1 })
      for (const shown of [imported, assigned, ...page.phone_numbers]) {
        expect(Object.keys(shown)).toEqual(keysOf(PhoneNumber))
        expect(yield* Schema.validate(PhoneNumber, { onExcessProperty: "error" })(shown)).toEqual(imported)
      }
    })
  )

  it.effect("is updated by an assignment only in the columns of its agent", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const repo = yield* PhoneNumbersRepo
      const principal = yield* owner
      const { agent } = yield* agents.create(principal, {
        name: "Reception",
        server_url: "https://example.com",
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false
      })
      const row = Option.getOrThrow(
        yield* repo.insert({
          org_id: principal.org.id,
          project_id: principal.project.id,
          number: "+31203000002",
          country: "NL",
          type: "toll_free",
          address_id: null,
          monthly_cost_eur: 1.25,
          telephony: "simulated",
          carrier_id: null
        })
      )
      expect(row).toMatchObject({ type: "toll_free", monthly_cost_eur: 1.25, agent_id: null, agent_public_id: null })
      const to = { agent_id: agent.id, agent_public_id: agent.public_id }
      expect(yield* repo.assign(principal.project.id, row.id, to)).toEqual(Option.some({ ...row, ...to }))
      yield* repo.unassignAll(agent.id)
      const [after] = yield* repo.page({ project_id: principal.project.id, before: undefined, limit: 1 })
      expect(after).toEqual(row)
    })
  )
})
