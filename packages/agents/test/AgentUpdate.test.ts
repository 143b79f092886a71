import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { AgentUpdate } from "@svc/api/agents/AgentBody"
import { Effect, Either, ParseResult, Schema } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, knowledgeBase, logOf, owner, Test } from "./Fixture.ts"

describe("the body of PATCH /v1/agents/<id>", () => {
  it.each([
    ["name", null, "Expected"],
    ["name", "  ", "name is required."],
    ["server_url", null, "Expected"],
    ["language", "en", "language must be a supported BCP-47 code"],
    ["voice", null, "Expected"],
    ["max_duration", 99.5, "max_duration must be between 60 and 7200"],
    ["recording", null, "Expected"],
    ["webhook_url", 5, "Expected"],
    ["webhook_events", null, "Expected"],
    ["webhook_events", [], "webhook_events must not be empty"],
    ["knowledge_base_ids", null, "Expected"],
    ["knowledge_base_ids", Array.from({ length: 21 }, (_, i) => i + 1), "knowledge_base_ids cannot exceed 20 entries"]
  ])("%s = %j is refused on that field", (field, value, message) => {
    const result = Schema.decodeUnknownEither(AgentUpdate)({ [field]: value })
    if (Either.isRight(result)) return expect.fail("was accepted")
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(result.left)
    expect(issue?.path).toEqual([field])
    expect(issue?.message).toContain(message)
  })
})

layer(Test)("an update of an agent", (it) => {
  it.effect("changes the given fields only", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const base = yield* knowledgeBase(by)
      const { agent } = yield* create(by)
      const to = {
        name: "Front desk",
        server_url: "https://voice.example.com/two",
        language: "nl-NL",
        voice: "Jan",
        recording: true,
        end_call_enabled: true
      } as const
      const body = yield* Schema.decode(AgentUpdate)({
        ...to,
        max_duration: 90_000,
        knowledge_base_ids: [base.public_id]
      })
      const changed = yield* agents.update(by, agent.public_id, body)
      const { updated_at, ...rest } = changed
      expect(rest).toEqual({
        ...agent,
        ...to,
        max_duration: 7200,
        knowledge_base_ids: [base],
        updated_at: undefined
      })
      expect(updated_at >= agent.updated_at).toBe(true)
      expect(yield* agents.get(by.project, String(agent.id))).toEqual(changed)
      for (const [field, value] of Object.entries(to)) {
        const again = yield* create(by)
        const one = yield* agents.update(
          by,
          String(again.agent.id),
          field === "voice" ? { voice: "Jan", language: "nl-NL" } : { [field]: value }
        )
        expect(one).toMatchObject({ [field]: value, server_secret_hint: again.agent.server_secret_hint })
      }
    })
  )

  it.effect("without fields is refused", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      for (const body of [{}, { name: undefined }]) {
        const error = yield* Effect.flip(agents.update(by, agent.public_id, body))
        expect([error.status, error.code, error.message]).toEqual([400, "BAD_REQUEST", "No valid fields to update"])
      }
    })
  )

  it.effect("without a difference writes nothing and keeps updated_at", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const base = yield* knowledgeBase(by)
      const { agent } = yield* create(by, {
        webhook_url: "https://hooks.example.com/",
        webhook_events: ["call.ended", "call.started"],
        knowledge_base_ids: [base.id]
      })
      const version = sql<{ v: string }>`select xmin::text as v from agents where id = ${agent.id}`
      const before = yield* version
      const same = yield* agents.update(by, agent.public_id, {
        name: agent.name,
        server_url: agent.server_url,
        language: "en-US",
        voice: agent.voice,
        max_duration: agent.max_duration,
        recording: agent.recording,
        end_call_enabled: agent.end_call_enabled,
        webhook_url: agent.webhook_url,
        webhook_events: ["call.started", "call.ended", "call.started"],
        knowledge_base_ids: [base.public_id, String(base.id), base.id]
      })
      expect(same).toEqual(agent)
      expect(yield* version).toEqual(before)
      expect((yield* logOf(by, agent.public_id)).map(({ action }) => action)).toEqual(["created"])
    })
  )

  it.effect("checks voice and language against each other when either changes", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { language: "nl-NL", voice: "Jan" })
      const refused = [
        { language: "de-DE" },
        { voice: "Nobody" },
        { voice: "Eva", language: "en-US" },
        { voice: "jan", language: "en-US" }
      ] as const
      for (const body of refused) {
        const error = yield* Effect.flip(agents.update(by, agent.public_id, body))
        expect(error.message).toBe("voice not available for the selected language")
        expect("details" in error && error.details).toEqual({ voice: error.message })
      }
      expect(yield* agents.update(by, agent.public_id, { voice: "jan" })).toMatchObject({ voice: "jan" })
      yield* agents.update(by, agent.public_id, { language: "de-DE", voice: "Eva" })
      yield* agents.update(by, agent.public_id, { language: "nl-NL" })
      expect(yield* agents.update(by, agent.public_id, { voice: "Sarah" })).toMatchObject({ language: "nl-NL" })
    })
  )

  it.effect("concurrent with another one never results in a voice that does not speak the language", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      for (let i = 0; i < 20; i++) {
        const { agent } = yield* create(by, { language: "nl-NL", voice: "Sarah" })
        // Each is valid for the current agent; together they are not.
        const results = yield* Effect.all(
          [
            Effect.either(agents.update(by, agent.public_id, { voice: "Jan" })),
            Effect.either(agents.update(by, agent.public_id, { language: "en-US" }))
          ],
          { concurrency: "unbounded" }
        )
        expect(results.map(({ _tag }) => _tag).sort()).toEqual(["Left", "Right"])
      }
    })
  )

  it.effect("is not lost among 50 concurrent ones, and each is logged", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      const names = Array.from({ length: 25 }, (_, i) => `Name ${i}`)
      const durations = Array.from({ length: 25 }, (_, i) => 100 + i)
      yield* Effect.all(
        [
          ...names.map((name) => agents.update(by, agent.public_id, { name })),
          ...durations.map((max_duration) => agents.update(by, agent.public_id, { max_duration }))
        ],
        { concurrency: "unbounded", discard: true }
      )
      const log = yield* logOf(by, agent.public_id)
      expect(log).toHaveLength(51)
      // Applied in order, the entries lead from the first values to the current ones without a gap.
      const values: Record<string, unknown> = {}
      for (const entry of [...log].reverse()) {
        for (const field of entry.changed_fields) {
          expect(entry.old_values[field] ?? null).toEqual(values[field] ?? null)
          values[field] = entry.new_values[field]
        }
      }
      const now = yield* agents.get(by.project, agent.public_id)
      expect(values).toMatchObject({ name: now.name, max_duration: now.max_duration })
    })
  )

  it.effect("cannot remove server_url", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      for (const server_url of ["", "   "]) {
        const error = yield* Effect.flip(agents.update(by, agent.public_id, { server_url }))
        expect(error).toMatchObject({ status: 400, details: { server_url: "server_url cannot be removed" } })
      }
    })
  )

  it.effect("with several invalid fields reports all of them and changes nothing", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      const error = yield* Effect.flip(
        agents.update(by, agent.public_id, {
          name: "New",
          server_url: "http://example.com",
          webhook_url: "https://127.0.0.1/",
          voice: "Jan",
          knowledge_base_ids: [1_000_000, "kb_x"]
        })
      )
      expect(error).toMatchObject({
        code: "VALIDATION_ERROR",
        details: {
          server_url: "server_url must be a valid public HTTPS URL",
          webhook_url: "webhook_url blocked by SSRF filter",
          voice: "voice not available for the selected language",
          "knowledge_base_ids.0": "knowledge_base_ids.0 is not a knowledge base of this project",
          "knowledge_base_ids.1": "knowledge_base_ids.1 is not a knowledge base of this project"
        }
      })
      expect(yield* agents.get(by.project, agent.public_id)).toEqual(agent)
    })
  )

  it.effect("of an agent of another project, an unknown or a deleted one is not found", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      const { agent: gone } = yield* create(by)
      yield* agents.remove(by, gone.public_id)
      const outsider = yield* owner
      for (const [who, id] of [
        [outsider, agent.public_id],
        [outsider, String(agent.id)],
        [by, "agent_000000000000000000000000"],
        [by, "nonsense"],
        [by, gone.public_id],
        [by, String(gone.id)]
      ] as const) {
        const tries: ReadonlyArray<Effect.Effect<unknown, { readonly code: string }>> = [
          agents.update(who, id, { name: "Stolen" }),
          agents.remove(who, id),
          agents.clone(who, id, {}),
          agents.rotateServerSecret(who, id),
          agents.rotateWebhookSecret(who, id)
        ]
        for (const one of tries) expect((yield* Effect.flip(one)).code).toBe("AGENT_NOT_FOUND")
      }
      expect(yield* agents.get(by.project, agent.public_id)).toEqual(agent)
    })
  )
})

layer(Test)("an agent's knowledge bases", (it) => {
  it.effect("are set by public and numeric ids, mixed, each once", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const [a, b, c] = [yield* knowledgeBase(by), yield* knowledgeBase(by), yield* knowledgeBase(by)]
      const { agent } = yield* create(by, { knowledge_base_ids: [c.public_id, String(a.id), a.public_id, b.id] })
      expect(agent.knowledge_base_ids).toEqual([a, b, c])
      const replaced = yield* agents.update(by, agent.public_id, { knowledge_base_ids: [b.id] })
      expect(replaced.knowledge_base_ids).toEqual([b])
      const renamed = yield* agents.update(by, agent.public_id, { name: "Other" })
      expect(renamed.knowledge_base_ids).toEqual([b])
      const none = yield* agents.update(by, agent.public_id, { knowledge_base_ids: [] })
      expect(none.knowledge_base_ids).toEqual([])
      expect((yield* agents.get(by.project, agent.public_id)).knowledge_base_ids).toEqual([])
    })
  )

  it.effect("can be as many as 20", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const bases = yield* Effect.replicateEffect(knowledgeBase(by), 20)
      const { agent } = yield* create(by, { knowledge_base_ids: bases.map(({ public_id }) => public_id) })
      expect(agent.knowledge_base_ids).toEqual(bases)
    })
  )

  it.effect("must belong to the project", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const mine = yield* knowledgeBase(by)
      const theirs = yield* knowledgeBase(yield* owner)
      for (const id of [theirs.public_id, theirs.id, "kb_000000000000000000000000", "0", "", -1]) {
        const error = yield* Effect.flip(create(by, { knowledge_base_ids: [mine.id, id] }))
        expect(error.message).toBe("knowledge_base_ids.1 is not a knowledge base of this project")
        expect(Object.keys(error.details ?? {})).toEqual(["knowledge_base_ids.1"])
      }
    })
  )

  it.effect("are unlinked when they are deleted, also while they are being linked", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      for (let i = 0; i < 20; i++) {
        const base = yield* knowledgeBase(by)
        const { agent } = yield* create(by)
        const [result] = yield* Effect.all(
          [
            Effect.either(agents.update(by, agent.public_id, { knowledge_base_ids: [base.id] })),
            sql`delete from knowledge_bases where id = ${base.id}`
          ],
          { concurrency: "unbounded" }
        )
        if (result._tag === "Left") expect(result.left.code).toBe("VALIDATION_ERROR")
        expect((yield* agents.get(by.project, agent.public_id)).knowledge_base_ids).toEqual([])
      }
    })
  )
})
