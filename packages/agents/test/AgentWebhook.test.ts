import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { WebhookEvents, webhookEvents } from "@svc/api/events/WebhookEvents"
import { Effect, Either, ParseResult, Schema } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, logOf, owner, Test, webhook_url } from "./Fixture.ts"

describe("webhook_events of a body", () => {
  const decode = Schema.decodeUnknownEither(Schema.Struct({ webhook_events: WebhookEvents }), { errors: "all" })
  const messages = (value: unknown) => {
    const result = decode({ webhook_events: value })
    return Either.isRight(result) ? [] : ParseResult.ArrayFormatter.formatErrorSync(result.left).map((i) => i.message)
  }

  it("accepts each of the 28 event names", () => {
    expect(webhookEvents).toHaveLength(28)
    expect(new Set(webhookEvents).size).toBe(28)
    expect(messages(webhookEvents)).toEqual([])
  })

  it("accepts 100 entries, repeated ones included, and reads the names of no longer list", () => {
    const list = (length: number, name: string) => Array.from({ length }, () => name)
    expect(messages(list(100, "call.ended"))).toEqual([])
    expect(messages(list(101, "call.ended"))).toEqual(["webhook_events cannot exceed 100 entries"])
    expect(messages(list(9_900, "call.exploded"))).toEqual(["webhook_events cannot exceed 100 entries"])
  })

  it.each([[["call.ended", "call.exploded"]], [["call.exploded", "", "CALL.ENDED"]], [[5, 6]], [[null]]])(
    "of %j reports one error, with the valid names",
    (value) => {
      const [message, ...more] = messages(value)
      expect(more).toEqual([])
      for (const name of webhookEvents) expect(message).toContain(name)
    }
  )
})

/** The stored row of an agent's webhook. */
const rowOf = (agentId: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{
      readonly url: string
      readonly events: ReadonlyArray<string>
      readonly secret: string
      readonly filters: unknown
      readonly is_agent_managed: boolean
      readonly project_id: number
      readonly org_id: number
    }>`
      select url, events, secret, filters, is_agent_managed, project_id, org_id from webhooks
      where agent_id = ${agentId}`
  )

layer(Test)("an agent's webhook", (it) => {
  it.effect("has a webhook_secret, returned at creation, and all events", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const made = yield* create(by, { webhook_url })
      expect(made.webhook_secret).toMatch(/^[0-9a-f]{64}$/)
      expect(made.webhook_secret).not.toBe(made.server_secret)
      expect(made.webhook_secret_note).toContain("only once")
      expect(made.agent).toMatchObject({
        webhook_url,
        webhook_secret_hint: `...${made.webhook_secret?.slice(-8)}`,
        webhook_events: webhookEvents
      })
      expect(yield* rowOf(made.agent.id)).toEqual([
        {
          url: webhook_url,
          events: ["*"],
          secret: made.webhook_secret,
          filters: { agent_id: made.agent.id },
          is_agent_managed: true,
          project_id: by.project.id,
          org_id: by.org.id
        }
      ])
      expect(yield* agents.get(by.project, made.agent.public_id)).toEqual(made.agent)
      const page = yield* agents.list(by.project, { limit: 5 })
      expect(page.agents).toEqual([made.agent])
    })
  )

  it.effect("does not exist without webhook_url, and no webhook_secret is returned", () =>
    Effect.gen(function* () {
      const by = yield* owner
      for (const none of [{}, { webhook_url: null }, { webhook_url: "" }]) {
        const made = yield* create(by, none)
        expect(made).not.toHaveProperty("webhook_secret")
        expect(made).not.toHaveProperty("webhook_secret_note")
        expect(made.agent).toMatchObject({ webhook_url: null, webhook_secret_hint: null, webhook_events: null })
        expect(yield* rowOf(made.agent.id)).toEqual([])
      }
    })
  )

  it.effect("gets the events in webhook_events, each once; `*` means all", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const some = yield* create(by, { webhook_url, webhook_events: ["tool.invoked", "barge_in", "tool.invoked"] })
      expect(some.agent.webhook_events).toEqual(["tool.invoked", "barge_in"])
      const all = yield* create(by, { webhook_url, webhook_events: ["barge_in", "*"] })
      expect(all.agent.webhook_events).toEqual(webhookEvents)
    })
  )

  it.effect("set later gets a webhook_secret that only a rotation returns", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      const changed = yield* agents.update(by, agent.public_id, { webhook_url })
      const [row] = yield* rowOf(agent.id)
      expect(JSON.stringify(changed)).not.toContain(row?.secret)
      expect(changed).toMatchObject({ webhook_url, webhook_secret_hint: `...${row?.secret.slice(-8)}` })
      expect(changed.webhook_events).toEqual(webhookEvents)
      const rotated = yield* agents.rotateWebhookSecret(by, String(agent.id))
      expect(rotated.id).toBe(agent.id)
      expect(rotated.webhook_secret).toMatch(/^[0-9a-f]{64}$/)
      expect(rotated.webhook_secret).not.toBe(row?.secret)
      expect(rotated.webhook_secret_note).toContain("only once")
      expect((yield* rowOf(agent.id))[0]?.secret).toBe(rotated.webhook_secret)
      const now = yield* agents.get(by.project, agent.public_id)
      expect(now.webhook_secret_hint).toBe(`...${rotated.webhook_secret.slice(-8)}`)
    })
  )

  it.effect("keeps its secret and the fields that an update does not contain", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { webhook_url, webhook_events: ["call.ended"] })
      const moved = yield* agents.update(by, agent.public_id, { webhook_url: "https://new.example.com/" })
      expect(moved).toMatchObject({
        webhook_url: "https://new.example.com/",
        webhook_events: ["call.ended"],
        webhook_secret_hint: agent.webhook_secret_hint
      })
      const other = yield* agents.update(by, agent.public_id, { webhook_events: ["call.started", "call.failed"] })
      expect(other).toMatchObject({
        webhook_url: "https://new.example.com/",
        webhook_events: ["call.started", "call.failed"],
        webhook_secret_hint: agent.webhook_secret_hint
      })
      const renamed = yield* agents.update(by, agent.public_id, { name: "Renamed" })
      expect({ ...renamed, updated_at: "" }).toEqual({ ...other, name: "Renamed", updated_at: "" })
    })
  )

  it.effect.each([[null], [""]] as const)(
    "is removed with its secret by webhook_url %j, and gets a new secret when set again",
    ([none]) =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const by = yield* owner
        const { agent } = yield* create(by, { webhook_url, webhook_events: ["call.ended"] })
        const removed = yield* agents.update(by, agent.public_id, { webhook_url: none })
        expect(removed).toMatchObject({ webhook_url: null, webhook_secret_hint: null, webhook_events: null })
        expect(yield* rowOf(agent.id)).toEqual([])
        const error = yield* Effect.flip(agents.rotateWebhookSecret(by, agent.public_id))
        expect([error.status, error.code]).toEqual([400, "WEBHOOK_URL_REQUIRED"])
        const back = yield* agents.update(by, agent.public_id, { webhook_url })
        expect(back.webhook_events).toEqual(webhookEvents)
        expect(back.webhook_secret_hint).not.toBe(agent.webhook_secret_hint)
      })
  )

  it.effect("cannot have webhook_events without webhook_url", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const details = { webhook_events: "webhook_events needs a webhook_url" }
      const events = { webhook_events: ["call.ended"] } as const
      expect(yield* Effect.flip(create(by, events))).toMatchObject({ code: "VALIDATION_ERROR", details })
      const { agent } = yield* create(by)
      expect(yield* Effect.flip(agents.update(by, agent.public_id, events))).toMatchObject({ details })
      const { agent: full } = yield* create(by, { webhook_url })
      const both = { ...events, webhook_url: null }
      expect(yield* Effect.flip(agents.update(by, full.public_id, both))).toMatchObject({ details })
      expect(yield* agents.get(by.project, full.public_id)).toEqual(full)
    })
  )

  it.effect("that was disabled shows no webhook_events, and only an update that contains it enables it", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const ways = [{ webhook_url }, { webhook_events: ["call.ended" as const] }]
      for (const way of ways) {
        const { agent } = yield* create(by, { webhook_url, webhook_events: ["call.ended"] })
        yield* sql`
          update webhooks set is_active = false, consecutive_failures = 10, failure_count = 12, disabled_reason = 'x'
          where agent_id = ${agent.id}`
        const off = yield* agents.update(by, agent.public_id, { name: "Other" })
        expect(off).toMatchObject({ webhook_url, webhook_events: null })
        const on = yield* agents.update(by, agent.public_id, way)
        expect(on).toMatchObject({
          webhook_url,
          webhook_events: ["call.ended"],
          webhook_secret_hint: agent.webhook_secret_hint
        })
        expect(
          yield* sql`
            select is_active, consecutive_failures, failure_count, disabled_reason from webhooks
            where agent_id = ${agent.id}`
        ).toEqual([{ is_active: true, consecutive_failures: 0, failure_count: 12, disabled_reason: null }])
        expect((yield* logOf(by, agent.public_id))[0]).toMatchObject({
          changed_fields: ["webhook_events"],
          old_values: { webhook_events: null },
          new_values: { webhook_events: ["call.ended"] }
        })
      }
    })
  )

  it.effect("rotated concurrently has the secret that one of the requests returned", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { webhook_url })
      const rotations = yield* Effect.all(
        Array.from({ length: 10 }, () => agents.rotateWebhookSecret(by, agent.public_id)),
        { concurrency: "unbounded" }
      )
      const secrets = rotations.map((one) => one.webhook_secret)
      expect(new Set(secrets).size).toBe(10)
      expect(secrets).toContain((yield* rowOf(agent.id))[0]?.secret)
      expect(yield* logOf(by, agent.public_id)).toHaveLength(11)
    })
  )

  it.effect("set concurrently is created once", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by)
      const urls = Array.from({ length: 10 }, (_, i) => `https://hooks.example.com/${i}`)
      yield* Effect.forEach(urls, (url) => agents.update(by, agent.public_id, { webhook_url: url }), {
        concurrency: "unbounded"
      })
      const rows = yield* rowOf(agent.id)
      expect(rows).toHaveLength(1)
      expect(yield* agents.get(by.project, agent.public_id)).toMatchObject({ webhook_url: rows[0]?.url })
    })
  )
})

layer(Test)("a server secret", (it) => {
  it.effect("that is rotated signs the requests of the next call", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const made = yield* create(by)
      const running = yield* agents.forCall(made.agent.id)
      const rotated = yield* agents.rotateServerSecret(by, made.agent.public_id)
      expect(rotated.server_secret).toMatch(/^[0-9a-f]{64}$/)
      expect(rotated).toMatchObject({ id: made.agent.id, server_secret_note: made.server_secret_note })
      expect(running.server_secret).toBe(made.server_secret)
      expect((yield* agents.forCall(made.agent.id)).server_secret).toBe(rotated.server_secret)
      const [entry] = yield* logOf(by, made.agent.public_id)
      expect(entry).toMatchObject({
        action: "updated",
        changed_fields: ["server_secret"],
        old_values: { server_secret: `...${made.server_secret.slice(-8)}` },
        new_values: { server_secret: `...${rotated.server_secret.slice(-8)}` }
      })
    })
  )
})
