import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { planFiguresOf } from "@svc/database/TestPlans"
import { Effect } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, knowledgeBase, owner, Test, webhook_url } from "./Fixture.ts"

const tables = ["agents", "agent_knowledge_bases", "knowledge_bases", "webhooks"]

/** As many agents as asked for, `Agent 1` to `Agent <count>`, every thousandth of them in a café. */
const seed = ({ org, project }: ProjectPrincipal, count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      insert into agents (
        public_id, org_id, project_id, name, name_folded, language, voice, max_duration, recording, end_call_enabled,
        server_url, server_secret
      )
      select 'agent_' || substr(md5(${project.id}::text || n::text), 1, 24), ${org.id}::bigint, ${project.id}::bigint,
        name, lower(name), 'en-US', 'Sarah', 1800, false, false, 'https://example.com', repeat('a', 64)
      from (
        select n, case when n % 1000 = 0 then 'CAFÉ Zürich ' else 'Agent ' end || n as name
        from generate_series(1, ${count}::int) n
      ) made`
    // Statistics of all rows, not of a sample: a rare name that is not in the sample may lead to another plan.
    yield* sql`alter table agents alter column name_folded set statistics 200`
    yield* sql`analyze agents`
  })

layer(Test, { timeout: "60 seconds" })("a list of agents", (it) => {
  it.effect("needs as many statements for a hundred agents as for one", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const base = yield* knowledgeBase(by)
      for (let i = 0; i < 100; i++) {
        yield* create(by, i % 2 === 0 ? { webhook_url, knowledge_base_ids: [base.id] } : {})
      }
      const page = yield* agents.list(by.project, { limit: 100 })
      expect(page.agents).toHaveLength(100)
      for (const agent of page.agents.slice(0, 10)) {
        expect(agent).toEqual(yield* agents.get(by.project, agent.public_id))
      }
      const hundred = yield* planFiguresOf(agents.list(by.project, { limit: 100 }), tables)
      const two = yield* planFiguresOf(agents.list(by.project, { limit: 2 }), tables)
      expect([hundred.statements, two.statements]).toEqual([3, 3])
    })
  )

  it.effect("returns each agent once while others are created and deleted", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const old = yield* Effect.replicateEffect(
        Effect.map(create(by), ({ agent }) => agent.public_id),
        30
      )
      const seen: Array<string> = []
      let after: string | undefined
      do {
        const page = yield* agents.list(by.project, { limit: 4, after })
        seen.push(...page.agents.map((agent) => agent.public_id))
        after = page.next_cursor ?? undefined
        yield* Effect.all(
          [
            create(by),
            create(by),
            // The cursor of the next page is deleted: the page is found nevertheless.
            after === undefined ? Effect.void : agents.remove(by, after)
          ],
          { concurrency: "unbounded" }
        )
      } while (after !== undefined)
      expect(seen).toEqual(old.toReversed())
    })
  )

  it.effect.each([
    ["straße", "Die STRASSE", []],
    ["STRASSE", "Die Strasse", ["Die Strasse"]],
    ["ΑΘΉΝΑ", "Γραφείο Αθήνα", ["Γραφείο Αθήνα"]],
    ["стійка", "СТІЙКА", ["СТІЙКА"]],
    ["ÅNG", "Ma\u030angfald a\u030ang", ["Ma\u030angfald a\u030ang"]],
    ["İ", "İstanbul", ["İstanbul"]],
    ["a_b", "a-b", []],
    ["a_b", "A_B", ["A_B"]],
    ["50%", "500", []],
    ["c:\\new", "C:\\NEW", ["C:\\NEW"]],
    ["'; --", "x'; --", ["x'; --"]]
  ] as const)("name=%s of %s", ([name, one, expected]) =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      yield* create(by, { name: one })
      const page = yield* agents.list(by.project, { limit: 10, name })
      expect(page.agents.map((agent) => agent.name)).toEqual(expected)
    })
  )

  it.effect("finds an agent by its name after a change", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { name: "Before" })
      yield* agents.update(by, agent.public_id, { name: "ÉTÉ" })
      const named = (name: string) =>
        Effect.map(agents.list(by.project, { limit: 10, name }), (page) => page.agents.length)
      expect([yield* named("before"), yield* named("été")]).toEqual([0, 1])
    })
  )

  it.effect("reads few rows more than it returns among very many agents, also with a name filter", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      yield* seed(by, 30_000)
      yield* seed(yield* owner, 10_000)
      const readBy = (query: { readonly name?: string; readonly after?: string }) =>
        planFiguresOf(agents.list(by.project, { limit: 20, ...query }), ["agents"])
      const middle = (yield* agents.list(by.project, { limit: 1, name: "Agent 15001" })).agents[0]
      expect(middle?.name).toBe("Agent 15001")

      for (const query of [{}, { after: middle?.public_id ?? "" }, { name: "agent" }]) {
        const read = yield* readBy(query)
        // The page, one more row that shows whether it is the last, and the cursor.
        expect([read.sequentialScans, read.rows > 20, read.rows <= 22]).toEqual([[], true, true])
      }
      // One agent in a thousand in both projects has this name; those of the other project are not read.
      const rare = yield* readBy({ name: "café zü" })
      expect([rare.sequentialScans, [...rare.indexes], rare.rows]).toEqual([[], ["agents_name"], 30])
      const none = yield* readBy({ name: "nobody is called this" })
      expect([none.sequentialScans, [...none.indexes], none.rows]).toEqual([[], ["agents_name"], 0])
      const found = yield* agents.list(by.project, { limit: 100, name: "CAFÉ ZÜ" })
      expect(found.agents).toHaveLength(30)
    })
  )
})
