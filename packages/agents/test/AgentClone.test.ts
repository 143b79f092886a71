import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { AgentClone } from "@svc/api/agents/AgentBody"
import { Effect, Either, Schema } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, knowledgeBase, logOf, owner, Test, webhook_url } from "./Fixture.ts"

layer(Test)("a clone", (it) => {
  it.effect("has the configuration, knowledge bases and webhook of its source, and its own secrets", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const bases = [yield* knowledgeBase(by), yield* knowledgeBase(by)]
      const source = yield* create(by, {
        language: "de-DE",
        voice: "Eva",
        max_duration: 300,
        recording: true,
        end_call_enabled: true,
        webhook_url,
        webhook_events: ["call.ended", "barge_in"],
        knowledge_base_ids: bases.map(({ id }) => id)
      })
      const made = yield* agents.clone({ ...by, key_id: 77 }, String(source.agent.id), {})
      const { created_at, id, public_id, server_secret_hint, updated_at, webhook_secret_hint, ...rest } = made.agent
      const original = yield* agents.get(by.project, source.agent.public_id)
      expect(original).toEqual(source.agent)
      expect(original).toMatchObject({ ...rest, name: "Reception" })
      expect(rest.name).toBe("Copy of Reception")
      expect(id).not.toBe(source.agent.id)
      expect(public_id).not.toBe(source.agent.public_id)
      expect(created_at >= source.agent.created_at && updated_at === created_at).toBe(true)
      for (const secret of [made.server_secret, made.webhook_secret]) expect(secret).toMatch(/^[0-9a-f]{64}$/)
      const secrets = [made, source].flatMap((one) => [one.server_secret, one.webhook_secret])
      expect(new Set(secrets).size).toBe(4)
      expect(server_secret_hint).toBe(`...${made.server_secret.slice(-8)}`)
      expect(webhook_secret_hint).toBe(`...${made.webhook_secret?.slice(-8)}`)
      expect(yield* agents.get(by.project, public_id)).toEqual(made.agent)

      const [entry, ...more] = yield* logOf(by, public_id)
      expect(more).toEqual([])
      expect(entry).toMatchObject({
        agent_id: id,
        api_key_id: 77,
        action: "cloned",
        old_values: {},
        new_values: { name: "Copy of Reception", voice: "Eva", cloned_from: source.agent.public_id }
      })
      expect((yield* logOf(by, source.agent.public_id)).map(({ action }) => action)).toEqual(["created"])
    })
  )

  it.effect("gets the requested name, trimmed", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      const body = yield* Effect.orDie(Schema.decodeUnknown(AgentClone)({ name: "  Night  " }))
      expect((yield* agents.clone(by, agent.public_id, body)).agent.name).toBe("Night")
      for (const name of ["", "  ", null, "x".repeat(201), "a\u0000"]) {
        expect(Either.isLeft(Schema.decodeUnknownEither(AgentClone)({ name }))).toBe(true)
      }
    })
  )

  it.effect.each([
    ["x".repeat(192), `Copy of ${"x".repeat(192)}`],
    ["x".repeat(200), `Copy of ${"x".repeat(192)}`],
    [`${"x".repeat(191)} yyyy`, `Copy of ${"x".repeat(191)}`],
    // Each is a surrogate pair; the last one would be cut in half.
    [`x${"\u{1F600}".repeat(99)}`, `Copy of x${"\u{1F600}".repeat(95)}`]
  ])("has a default name that is not too long: %#", ([name, expected]) =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { name })
      const copy = yield* agents.clone(by, agent.public_id, {})
      expect(copy.agent.name).toBe(expected)
      expect(copy.agent.name.length).toBeLessThanOrEqual(200)
    })
  )

  it.effect("of an agent without a webhook has none, and one of a disabled webhook is active", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const { agent: plain } = yield* create(by)
      const copy = yield* agents.clone(by, plain.public_id, {})
      expect(copy).not.toHaveProperty("webhook_secret")
      expect(copy.agent.webhook_url).toBeNull()
      const { agent: broken } = yield* create(by, { webhook_url, webhook_events: ["call.ended"] })
      yield* sql`update webhooks set is_active = false where agent_id = ${broken.id}`
      const repaired = yield* agents.clone(by, broken.public_id, {})
      expect(repaired.agent).toMatchObject({ webhook_url, webhook_events: ["call.ended"] })
    })
  )

  it.scoped("of an agent with live calls is refused", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      yield* agents.activeWhen("test", (id) => Effect.succeed(id === agent.id))
      const error = yield* Effect.flip(agents.clone(by, agent.public_id, {}))
      expect([error.status, error.code, error.message]).toEqual([
        409,
        "AGENT_HAS_ACTIVE_CALLS",
        "cannot clone agent with active calls in progress"
      ])
      expect((yield* agents.list(by.project, { limit: 10 })).agents).toEqual([agent])
    })
  )

  it.effect("made while the source changes copies one consistent state", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const base = yield* knowledgeBase(by)
      const states = [
        { name: "A", webhook_url: "https://a.example.com/", knowledge_base_ids: [] },
        { name: "B", webhook_url: "https://b.example.com/", knowledge_base_ids: [base.id] },
        { name: "C", webhook_url: null, knowledge_base_ids: [] }
      ]
      const { agent } = yield* create(by, states[0])
      const [clones] = yield* Effect.all(
        [
          Effect.replicateEffect(agents.clone(by, agent.public_id, {}), 15),
          Effect.forEach(
            Array.from({ length: 45 }, (_, i) => states[i % 3] ?? {}),
            (state) => agents.update(by, agent.public_id, state)
          )
        ],
        { concurrency: "unbounded" }
      )
      const kinds = ["Copy of A https://a.example.com/ 0", "Copy of B https://b.example.com/ 1", "Copy of C null 0"]
      for (const { agent: one } of clones) {
        expect(kinds).toContain(`${one.name} ${one.webhook_url} ${one.knowledge_base_ids.length}`)
      }
    })
  )
})
