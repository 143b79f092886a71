import { SqlClient } from "@effect/sql"
import { describe, expect, expectTypeOf, it, layer } from "@effect/vitest"
import { Agent } from "@svc/api/agents/Agent"
import { AgentCreate, AgentUpdate } from "@svc/api/agents/AgentBody"
import { AgentFields, agentSettings } from "@svc/api/agents/AgentFields"
import { variant } from "@svc/api/EntityFields"
import { Effect, Option, Schema, Struct } from "effect"
import { Agents, type CallAgent } from "../src/Agents.ts"
import { AgentRow, AgentsRepo, changeable } from "../src/AgentsRepo.ts"
import { create, logOf, owner, Test, webhook_url } from "./Fixture.ts"

const audit = variant(AgentFields, "audit")
const keysOf = (schema: { readonly fields: object }) => Object.keys(schema.fields)
const attached = ["webhook_url", "webhook_events", "knowledge_base_ids"] as const
type Attached = (typeof attached)[number]
type Setting = (typeof agentSettings)[number]

describe("the list of an agent's fields", () => {
  it("gives the bodies of POST and PATCH the settings, webhook and knowledge bases, and nothing else", () => {
    const fields = ["name", "server_url", ...agentSettings.filter((key) => key !== "name" && key !== "server_url")]
    expect(keysOf(AgentCreate)).toEqual([...fields, ...attached])
    expect(keysOf(AgentUpdate)).toEqual([...fields, ...attached])
    expectTypeOf<keyof typeof AgentCreate.Type>().toEqualTypeOf<Setting | Attached>()
    expectTypeOf<keyof typeof AgentUpdate.Type>().toEqualTypeOf<Setting | Attached>()
    expectTypeOf<typeof AgentUpdate.Type>().toEqualTypeOf<
      Partial<{ readonly [K in Setting | Attached]: (typeof AgentUpdate.Type)[K] }>
    >()
  })

  it("keeps every setting with the same type in the response, the row, the audit log and a call's agent", () => {
    for (const schema of [Agent, AgentRow, variant(AgentFields, "insert"), variant(AgentFields, "change"), audit]) {
      expect(keysOf(schema).filter((key) => agentSettings.some((setting) => setting === key))).toEqual(agentSettings)
    }
    expectTypeOf<Pick<typeof Agent.Type, Setting>>().toEqualTypeOf<Pick<AgentRow, Setting>>()
    expectTypeOf<Pick<typeof audit.Type, Setting>>().toEqualTypeOf<Pick<AgentRow, Setting>>()
    expectTypeOf<Pick<CallAgent, Setting>>().toEqualTypeOf<Pick<AgentRow, Setting>>()
  })

  it("shows no column of a secret and no internal column in responses", () => {
    const hidden = ["org_id", "project_id", "server_secret", "has_webhook", "has_knowledge_bases"]
    expect(keysOf(AgentRow).filter((key) => !keysOf(Agent).includes(key))).toEqual(hidden)
  })
})

layer(Test)("an agent in the database and on the wire", (it) => {
  it.effect("has a column for every field of its row, and two columns that only SQL uses", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string }>`
        select column_name as name from information_schema.columns
        where table_schema = current_schema() and table_name = 'agents'`
      expect(columns.map(({ name }) => name).toSorted()).toEqual(
        [...keysOf(AgentRow), "deleted_at", "name_folded"].toSorted()
      )
    })
  )

  it.effect("is returned with exactly the fields of the response, in their order, alone and in a list", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const principal = yield* owner
      const { agent } = yield* create(principal, { webhook_url })
      const page = yield* agents.list(principal.project, { limit: 1 })
      for (const shown of [agent, yield* agents.get(principal.project, agent.public_id), ...page.agents]) {
        expect(Object.keys(shown)).toEqual(keysOf(Agent))
        expect(yield* Schema.validate(Agent, { onExcessProperty: "error" })(shown)).toEqual(shown)
      }
    })
  )

  it.effect("is logged with exactly the fields of the audit log, in their order", () =>
    Effect.gen(function* () {
      const principal = yield* owner
      const { agent } = yield* create(principal, { webhook_url })
      const [entry] = yield* logOf(principal, agent.public_id)
      expect(entry?.changed_fields).toEqual(keysOf(audit))
      expect(yield* Schema.validate(audit, { onExcessProperty: "error" })(entry?.new_values)).toBeDefined()
    })
  )

  it.effect("is updated only in the columns that can change", () =>
    Effect.gen(function* () {
      const repo = yield* AgentsRepo
      const { agent } = yield* create(yield* owner)
      const row = Option.getOrThrow(yield* repo.findById(agent.id))
      const change = changeable(row)
      expect(Object.keys(change)).toEqual(keysOf(variant(AgentFields, "change")))
      const other = { ...change, name: "Other", recording: true, end_call_enabled: true, max_duration: 90 }
      const written = yield* repo.change(agent, other)
      expect(written).toEqual({ ...row, ...other, updated_at: written.updated_at })
      expect(Struct.omit(row, ...Struct.keys(change))).toEqual({
        id: agent.id,
        public_id: agent.public_id,
        org_id: row.org_id,
        project_id: row.project_id,
        created_at: row.created_at,
        updated_at: row.updated_at
      })
    })
  )
})
