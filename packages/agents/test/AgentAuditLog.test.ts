import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { AuditLogQuery } from "@svc/api/agents/AuditLog"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { Effect, Either, Exit, ParseResult, Schema } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, knowledgeBase, logOf, minimal, owner, Test, webhook_url } from "./Fixture.ts"

describe("the query of GET /v1/agents/<id>/audit-log", () => {
  const decode = Schema.decodeUnknownEither(AuditLogQuery)

  it("has the documented defaults and limits of limit and offset", () => {
    expect(decode({})).toEqual(Either.right({ limit: 50, offset: 0 }))
    expect(Either.isRight(decode({ limit: "100", offset: "1000000", action: "cloned" }))).toBe(true)
  })

  it.each([
    [{ limit: "101" }, "limit must be between 1 and 100"],
    [{ limit: "0" }, "limit must be between 1 and 100"],
    [{ offset: "1000001" }, "offset must not exceed 1000000"],
    [{ offset: "-1" }, "offset must not be negative"],
    [{ offset: "x" }, "offset must be an integer"],
    [{ action: "renamed" }, "created"],
    [{ start_date: "2026-02-30" }, "start_date must be a date, YYYY-MM-DD"],
    [{ end_date: "2026-11-21T00:00:00Z" }, "end_date must be a date, YYYY-MM-DD"]
  ])("%j is refused", (query, message) => {
    const result = decode(query)
    if (Either.isRight(result)) return expect.fail("was accepted")
    const issues = ParseResult.ArrayFormatter.formatErrorSync(result.left)
    expect(issues[0]?.path).toEqual(Object.keys(query))
    expect(issues[0]?.message).toContain(message)
  })
})

layer(Test)("the audit log", (it) => {
  it.effect("records for each action the api_key_id, old_values and new_values", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const base = yield* knowledgeBase(by)
      const made = yield* create({ ...by, key_id: 11 }, { webhook_url, knowledge_base_ids: [base.id] })
      const { agent } = made
      const id = agent.public_id
      yield* agents.update({ ...by, key_id: 12 }, id, { name: "Front desk", max_duration: 60 })
      const rotated = yield* agents.rotateWebhookSecret({ ...by, key_id: 13 }, id)
      yield* agents.update({ ...by, key_id: 14 }, id, { webhook_url: null, knowledge_base_ids: [] })
      const server = yield* agents.rotateServerSecret({ ...by, key_id: 15 }, id)
      yield* agents.remove({ ...by, key_id: 16 }, id)
      const log = yield* logOf(by, id)
      expect(log.map(({ action, api_key_id }) => `${action} ${api_key_id}`)).toEqual([
        "deleted 16",
        "updated 15",
        "updated 14",
        "webhook_secret_rotated 13",
        "updated 12",
        "created 11"
      ])
      const hint = (secret: string | undefined) => `...${secret?.slice(-8)}`
      const first = {
        ...minimal,
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false,
        server_secret: hint(made.server_secret),
        webhook_url,
        webhook_secret: hint(made.webhook_secret),
        webhook_events: webhookEvents,
        knowledge_base_ids: [base]
      }
      const [deleted, serverSecret, cleared, secret, renamed, created] = log
      expect(created).toMatchObject({ agent_id: agent.id, old_values: {}, new_values: first })
      expect(created?.changed_fields.toSorted()).toEqual(Object.keys(first).sort())
      expect(renamed).toMatchObject({
        changed_fields: ["name", "max_duration"],
        old_values: { name: "Reception", max_duration: 1800 },
        new_values: { name: "Front desk", max_duration: 60 }
      })
      expect(secret).toMatchObject({
        changed_fields: ["webhook_secret"],
        old_values: { webhook_secret: hint(made.webhook_secret) },
        new_values: { webhook_secret: hint(rotated.webhook_secret) }
      })
      expect(cleared).toMatchObject({
        changed_fields: ["webhook_url", "webhook_secret", "webhook_events", "knowledge_base_ids"],
        new_values: { webhook_url: null, webhook_secret: null, webhook_events: null, knowledge_base_ids: [] }
      })
      expect(serverSecret?.changed_fields).toEqual(["server_secret"])
      expect(deleted).toMatchObject({ new_values: {}, old_values: { name: "Front desk", max_duration: 60 } })
      // The log contains no secret.
      for (const one of [made.server_secret, made.webhook_secret, rotated.webhook_secret, server.server_secret]) {
        expect(JSON.stringify(log)).not.toContain(one)
      }
    })
  )

  it.effect("of a deleted agent can be read by its project, and by no other", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const outsider = yield* owner
      const { agent } = yield* create(by)
      yield* agents.remove(by, agent.public_id)
      const query = { limit: 50, offset: 0 }
      for (const id of [agent.public_id, String(agent.id)]) {
        const page = yield* agents.auditLog(by.project, id, query)
        expect(page.audit_logs.map(({ action }) => action)).toEqual(["deleted", "created"])
        expect((yield* Effect.flip(agents.auditLog(outsider.project, id, query))).code).toBe("AGENT_NOT_FOUND")
      }
      expect((yield* Effect.flip(agents.auditLog(by.project, "x", query))).code).toBe("AGENT_NOT_FOUND")
    })
  )

  it.effect("is read in pages, with the total", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      for (const name of ["a", "b", "c", "d"]) yield* agents.update(by, agent.public_id, { name })
      const part = (limit: number, offset: number) =>
        Effect.map(agents.auditLog(by.project, agent.public_id, { limit, offset }), (page) => ({
          ...page,
          audit_logs: page.audit_logs.map(({ new_values }) => new_values["name"])
        }))
      const total = 5
      expect(yield* part(2, 0)).toEqual({ audit_logs: ["d", "c"], total, limit: 2, offset: 0, has_more: true })
      expect(yield* part(2, 3)).toEqual({ audit_logs: ["a", "Reception"], total, limit: 2, offset: 3, has_more: false })
      expect(yield* part(2, 5)).toEqual({ audit_logs: [], total, limit: 2, offset: 5, has_more: false })
      expect(yield* part(5, 0)).toMatchObject({ total, has_more: false })
    })
  )

  it.effect("is filtered by action, and by start_date and end_date, both inclusive UTC days", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const { agent } = yield* create(by)
      for (const name of ["a", "b", "c"]) yield* agents.update(by, agent.public_id, { name })
      const moments = [
        "2026-03-01T23:59:59.999Z",
        "2026-03-02T00:00:00.000Z",
        "2026-03-02T23:59:59.999Z",
        "2026-03-03T00:00:00.000Z"
      ]
      const entries = [...(yield* logOf(by, agent.public_id))].reverse()
      for (const [index, entry] of entries.entries()) {
        yield* sql`update agent_audit_log set created_at = ${moments[index] ?? ""}::timestamptz where id = ${entry.id}`
      }
      const names = (query: object) =>
        Effect.map(
          agents.auditLog(by.project, agent.public_id, { limit: 50, offset: 0, ...query }),
          ({ audit_logs, total }) => [total, ...audit_logs.map(({ created_at }) => created_at)]
        )
      expect(yield* names({ start_date: "2026-03-02", end_date: "2026-03-02" })).toEqual([2, moments[2], moments[1]])
      expect(yield* names({ start_date: "2026-03-02" })).toEqual([3, moments[3], moments[2], moments[1]])
      expect(yield* names({ end_date: "2026-03-02" })).toEqual([3, moments[2], moments[1], moments[0]])
      expect(yield* names({ action: "created" })).toEqual([1, moments[0]])
      expect(yield* names({ action: "updated", end_date: "2026-03-02" })).toEqual([2, moments[2], moments[1]])
      expect(yield* names({ action: "deleted" })).toEqual([0])
      expect(yield* names({ start_date: "2026-03-03", end_date: "2026-03-01" })).toEqual([0])
    })
  )

  it.effect("and the change it records are committed together or not at all", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const made = yield* create(by, { webhook_url })
      const { agent } = made
      yield* sql`alter table agent_audit_log add constraint broken check (api_key_id <> 666)`
      const broken = { ...by, key_id: 666 }
      const tries: ReadonlyArray<Effect.Effect<unknown, unknown, Agents>> = [
        create(broken, { webhook_url }),
        agents.update(broken, agent.public_id, { name: "New", webhook_url: null }),
        agents.rotateServerSecret(broken, agent.public_id),
        agents.rotateWebhookSecret(broken, agent.public_id),
        agents.clone(broken, agent.public_id, {}),
        agents.remove(broken, agent.public_id)
      ]
      for (const one of tries) expect(Exit.isFailure(yield* Effect.exit(one))).toBe(true)
      expect((yield* agents.list(by.project, { limit: 10 })).agents).toEqual([agent])
      expect((yield* agents.forCall(agent.id)).server_secret).toBe(made.server_secret)
      expect(yield* logOf(by, agent.public_id)).toHaveLength(1)
      expect(yield* sql`select count(*) as n from webhooks where org_id = ${by.org.id}`).toEqual([{ n: 1 }])
    })
  )

  it.effect("records a change of text that jsonb does not accept", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { name: "half \ud83d of a pair" })
      yield* agents.update(by, agent.public_id, { name: "whole \u{1F600}" })
      expect((yield* logOf(by, agent.public_id))[0]?.new_values).toEqual({ name: "whole \u{1F600}" })
    })
  )
})
