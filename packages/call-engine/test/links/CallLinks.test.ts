import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { BrowserCallRequest } from "@svc/api/calls/BrowserCalls"
import { Projects } from "@svc/auth/Projects"
import { Effect, Either, Layer, Schema } from "effect"
import { BrowserCalls } from "../../src/links/BrowserCalls.ts"
import { CallLinksRepo } from "../../src/links/CallLinksRepo.ts"
import { agentOnNumber, Base, configuration, Engine } from "../doubles/Engine.ts"

const tokenOf = (letter: string) => letter.repeat(32)
const request = Schema.decodeUnknownSync(BrowserCallRequest)

/** A link of an agent. */
const newLink = (token: string, change: Partial<Parameters<typeof CallLinksRepo.Service.insert>[0]> = {}) =>
  Effect.flatMap(CallLinksRepo, (repo) =>
    repo.insert({
      token,
      org_id: 1,
      project_id: 2,
      agent_id: 3,
      from_number: null,
      metadata: { a: 1 },
      max_calls: 1,
      expires_in: 60,
      ...change
    })
  )

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("Call links", (it) => {
  it.effect("are found by their token, which is not stored, until they expire or are used up", () =>
    Effect.gen(function* () {
      const repo = yield* CallLinksRepo
      const sql = yield* SqlClient.SqlClient
      yield* newLink(tokenOf("a"))
      const found = yield* repo.find(tokenOf("a"))
      expect(found).toMatchObject({ org_id: 1, project_id: 2, agent_id: 3, from_number: null, metadata: { a: 1 } })
      for (const other of [tokenOf("A"), "", "a", "\u0000", `${tokenOf("a")}a`, "ä".repeat(32)]) {
        expect([other, yield* repo.state(other)]).toEqual([other, "closed"])
      }
      const rows = yield* sql<{ readonly row: string }>`select call_links::text as row from call_links`
      expect(rows.map(({ row }) => row).join()).not.toContain(tokenOf("a"))
      expect(yield* repo.take(found?.id ?? 0)).toBe(true)
      expect([yield* repo.state(tokenOf("a")), yield* repo.take(found?.id ?? 0)]).toEqual(["closed", false])
      yield* sql`update call_links set calls = 0`
      expect(yield* repo.state(tokenOf("a"))).toBe("open")
      yield* sql`update call_links set expires_at = now() - interval '1 second'`
      expect([yield* repo.state(tokenOf("a")), yield* repo.take(found?.id ?? 0)]).toEqual(["closed", false])
    })
  )

  it.effect("are taken as often as max_calls says, however many calls start at once", () =>
    Effect.gen(function* () {
      const repo = yield* CallLinksRepo
      yield* newLink(tokenOf("b"), { max_calls: 7 })
      const id = (yield* repo.find(tokenOf("b")))?.id ?? 0
      const taken = yield* Effect.all(
        Array.from({ length: 30 }, () => repo.take(id)),
        { concurrency: "unbounded" }
      )
      expect(taken.filter((isTaken) => isTaken)).toHaveLength(7)
    })
  )

  it.effect("are deleted an hour after they have expired", () =>
    Effect.gen(function* () {
      const repo = yield* CallLinksRepo
      const sql = yield* SqlClient.SqlClient
      yield* newLink(tokenOf("c"), { org_id: 77 })
      yield* newLink(tokenOf("d"), { org_id: 77 })
      yield* sql`update call_links set expires_at = now() - interval '61 minutes' where org_id = 77 and id = (select min(id) from call_links where org_id = 77)`
      yield* repo.deleteExpired
      expect(yield* sql`select 1 from call_links where org_id = 77`).toHaveLength(1)
    })
  )

  it.scoped("end with their agent and with their project", () =>
    Effect.gen(function* () {
      const repo = yield* CallLinksRepo
      for (const [letter, remove] of [
        ["e", "agent"],
        ["f", "project"]
      ] as const) {
        const { agent, owner, project } = yield* agentOnNumber(() => configuration({}))
        yield* newLink(tokenOf(letter), { agent_id: agent.id, project_id: project.id })
        expect(yield* repo.state(tokenOf(letter))).toBe("open")
        if (remove === "agent") yield* Effect.flatMap(Agents, (agents) => agents.remove(owner, agent.public_id))
        else yield* Effect.flatMap(Projects, (projects) => projects.remove(owner.org.id, project.public_id))
        expect([remove, yield* repo.state(tokenOf(letter))]).toEqual([remove, "closed"])
      }
    })
  )

  it.scoped("are not made without the plugin browser; an unknown agent is reported before", () =>
    Effect.gen(function* () {
      const browserCalls = yield* BrowserCalls
      const { agent, owner } = yield* agentOnNumber(() => configuration({}))
      const create = (id: string, body: unknown) =>
        Effect.map(Effect.either(browserCalls.create(owner, id, request(body))), (result) =>
          Either.isLeft(result) ? [result.left._tag, result.left.message] : result.right
        )
      expect(yield* create("agent_000000000000000000000000", {})).toEqual(["AgentNotFound", "agent not found"])
      expect(yield* create(agent.public_id, { metadata: { a: { b: { c: { d: { e: {} } } } } } })).toEqual([
        "ValidationError",
        "metadata must not exceed 5 levels"
      ])
      expect(yield* create(agent.public_id, {})).toEqual([
        "Unavailable",
        "Browser calls need the plugin browser: add @svc/plugin-browser to SVC_PLUGINS"
      ])
    })
  )
})
