import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, Either, ParseResult } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, decode, minimal, owner, Test } from "./Fixture.ts"

describe("the body of POST /v1/agents", () => {
  it.each([
    ["name", undefined, "is missing"],
    ["name", null, "Expected"],
    ["name", 5, "Expected"],
    ["name", "", "name is required."],
    ["name", "   ", "name is required."],
    ["name", "x".repeat(201), "name must not exceed 200 characters"],
    ["name", "a\u0000b", "name must not contain NUL characters"],
    ["server_url", undefined, "is missing"],
    ["server_url", null, "Expected"],
    ["server_url", ["https://example.com"], "Expected"],
    ["language", null, "language must be a supported BCP-47 code"],
    ["language", "xx-XX", "language must be a supported BCP-47 code"],
    ["language", "en", "language must be a supported BCP-47 code"],
    ["voice", 1, "Expected"],
    ["voice", null, "Expected"],
    ["max_duration", "60", "max_duration must be between 60 and 7200"],
    ["max_duration", 60.5, "max_duration must be between 60 and 7200"],
    ["max_duration", null, "max_duration must be between 60 and 7200"],
    ["recording", "true", "Expected"],
    ["recording", 1, "Expected"],
    ["end_call_enabled", null, "Expected"]
  ])("%s = %j is refused on that field", (field, value, message) => {
    const result = decode(JSON.parse(JSON.stringify({ ...minimal, [field]: value })))
    if (Either.isRight(result)) return expect.fail("was accepted")
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(result.left)
    expect(issue?.path).toEqual([field])
    expect(issue?.message).toContain(message)
  })
})

layer(Test)("Agents", (it) => {
  it.effect("POST /v1/agents applies the documented defaults and returns server_secret once", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const principal = yield* owner
      const made = yield* create(principal, { ...minimal, name: "  Reception  ", unknown_field: 1 })
      expect(made.server_secret).toMatch(/^[0-9a-f]{64}$/)
      expect(made.server_secret_note).toContain("only once")
      expect(made.agent).toMatchObject({
        name: "Reception",
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false,
        server_url: "https://example.com/voice",
        server_secret_hint: `...${made.server_secret.slice(-8)}`,
        webhook_url: null,
        webhook_events: null,
        knowledge_base_ids: []
      })
      expect(made.agent.public_id).toMatch(/^agent_[0-9a-z]{24}$/)
      expect(made.agent.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(yield* agents.get(principal.project, made.agent.public_id)).toEqual(made.agent)
      expect(yield* agents.get(principal.project, String(made.agent.id))).toEqual(made.agent)
    })
  )
  it.effect.each([
    [1, 60],
    [-5, 60],
    [60, 60],
    [7200, 7200],
    [7201, 7200],
    [Number.MAX_SAFE_INTEGER, 7200]
  ] as const)("max_duration %d becomes %d", ([given, stored]) =>
    Effect.gen(function* () {
      const made = yield* create(yield* owner, { ...minimal, max_duration: given })
      expect(made.agent.max_duration).toBe(stored)
    })
  )
  it.effect.each([
    [{ server_url: "" }, { server_url: "server_url is required." }],
    [{ server_url: "  " }, { server_url: "server_url is required." }],
    [{ server_url: "http://example.com/" }, { server_url: "server_url must be a valid public HTTPS URL" }],
    [{ server_url: "https://no.such.name/" }, { server_url: "server_url must be a valid public HTTPS URL" }],
    [{ server_url: "https://example.com/\u0000" }, { server_url: "server_url must be a valid public HTTPS URL" }],
    [{ server_url: "https://169.254.169.254/" }, { server_url: "server_url blocked by SSRF filter" }],
    [{ voice: "Jan" }, { voice: "voice not available for the selected language" }],
    [{ voice: "" }, { voice: "voice not available for the selected language" }],
    [{ voice: "Sarah\u0000" }, { voice: "voice not available for the selected language" }]
  ])("a bad value is refused on its field, and nothing is made: %j", ([change, details]) =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const principal = yield* owner
      const error = yield* Effect.flip(create(principal, { ...minimal, ...change }))
      expect(error.code).toBe("VALIDATION_ERROR")
      expect(error.details).toEqual(details)
      expect(Object.values(details ?? {})).toEqual([error.message])
      expect((yield* agents.list(principal.project, { limit: 1 })).agents).toEqual([])
    })
  )
  it.effect("several bad fields are reported together", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        create(yield* owner, { server_url: "https://10.0.0.1", voice: "Nobody", webhook_url: "http://x.example.com" })
      )
      expect(Object.keys(error.details ?? {}).sort()).toEqual(["server_url", "voice", "webhook_url"])
    })
  )
  it.effect("a voice of the agent's language is accepted", () =>
    Effect.gen(function* () {
      const made = yield* create(yield* owner, { ...minimal, language: "nl-NL", voice: "Jan" })
      expect(made.agent).toMatchObject({ language: "nl-NL", voice: "Jan" })
    })
  )
  it.effect("text with unusual characters is returned unchanged", () =>
    Effect.gen(function* () {
      const name = 'O\'Brien \\ %_ "😀" é \u{1F468}\u200D\u{1F469} \n; drop table agents'
      expect((yield* create(yield* owner, { ...minimal, name })).agent.name).toBe(name)
    })
  )

  it.effect("agents of other projects, unknown and malformed ids are not found", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const mine = yield* owner
      const { agent } = yield* create(yield* owner, minimal)
      for (const id of [
        agent.public_id,
        String(agent.id),
        "agent_000000000000000000000000",
        "agent_short",
        "",
        "0",
        "-1",
        "1.0",
        "1e3",
        "999999999999999",
        "99999999999999999999",
        "\u0000",
        "agent_00000000000000000000000\u0000",
        "' or 1=1 --"
      ]) {
        const error = yield* Effect.flip(agents.get(mine.project, id))
        expect(error.code).toBe("AGENT_NOT_FOUND")
      }
    })
  )
  it.effect("forCall finds the configuration of an agent by its numeric id", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const principal = yield* owner
      const made = yield* create(principal, { ...minimal, recording: true })
      expect(yield* agents.forCall(made.agent.id)).toMatchObject({
        id: made.agent.id,
        public_id: made.agent.public_id,
        org_id: principal.org.id,
        project_id: principal.project.id,
        recording: true,
        server_secret: made.server_secret
      })
      expect((yield* Effect.flip(agents.forCall(made.agent.id + 1_000_000))).code).toBe("AGENT_NOT_FOUND")
    })
  )

  it.effect("a list is newest first, in pages up to a null next_cursor, with public or numeric ids as after", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const principal = yield* owner
      yield* create(yield* owner, minimal)
      for (let i = 0; i < 5; i++) yield* create(principal, { ...minimal, name: `Agent ${i}` })
      const seen: Array<string> = []
      let after: string | undefined
      for (const size of [2, 2, 1]) {
        const page = yield* agents.list(principal.project, { limit: 2, after })
        expect(page.agents).toHaveLength(size)
        seen.push(...page.agents.map((agent) => agent.name))
        after = page.next_cursor ?? undefined
        expect(after === undefined).toBe(size === 1)
      }
      expect(seen).toEqual([4, 3, 2, 1, 0].map((i) => `Agent ${i}`))
      const all = yield* agents.list(principal.project, { limit: 5 })
      expect(all.next_cursor).toBeNull()
      const [, second, third] = all.agents
      const next = yield* agents.list(principal.project, { limit: 1, after: String(second?.id) })
      expect(next.agents).toEqual([third])
    })
  )
  it.effect("a cursor stays valid after its agent was deleted", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const principal = yield* owner
      yield* create(principal, { ...minimal, name: "Older" })
      const { agent } = yield* create(principal, minimal)
      yield* sql`update agents set deleted_at = now() where id = ${agent.id}`
      expect((yield* Effect.flip(agents.get(principal.project, agent.public_id)))._tag).toBe("AgentNotFound")
      const page = yield* agents.list(principal.project, { limit: 5, after: agent.public_id })
      expect(page.agents.map(({ name }) => name)).toEqual(["Older"])
    })
  )
  it.effect("a cursor outside the project is refused", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const { project } = yield* owner
      const { agent } = yield* create(yield* owner, minimal)
      for (const after of [
        agent.public_id,
        String(agent.id),
        "agent_unknown",
        "",
        "-1",
        "x",
        "\u0000",
        "9".repeat(15)
      ]) {
        const error = yield* Effect.flip(agents.list(project, { limit: 5, after }))
        expect(Object.keys(error.details ?? {})).toEqual(["after"])
      }
    })
  )
  it.effect.each([
    ["desk", ["DESK two", "Front Desk"]],
    ["É", ["café É"]],
    ["CAFÉ", ["café É"]],
    ["100%", ["100% sure"]],
    ["%", ["100% sure"]],
    ["_", []],
    ["\\", []],
    ["", ["100% sure", "café É", "DESK two", "Front Desk"]]
  ] as const)("name=%s finds parts of names in any case, and takes no wildcards", ([name, expected]) =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const principal = yield* owner
      for (const one of ["Front Desk", "DESK two", "café É", "100% sure"]) {
        yield* create(principal, { ...minimal, name: one })
      }
      const page = yield* agents.list(principal.project, { limit: 10, name })
      expect(page.agents.map((agent) => agent.name)).toEqual(expected)
    })
  )
})
