import { SqlClient } from "@effect/sql"
import { describe, expect, expectTypeOf, it, layer } from "@effect/vitest"
import { Webhook } from "@svc/api/webhooks/Webhook"
import { WebhookCreate, WebhookUpdate } from "@svc/api/webhooks/WebhookBody"
import { type WebhookFilters, webhookSettings } from "@svc/api/webhooks/WebhookFields"
import { Effect, Option, Schema, Struct } from "effect"
import { AgentWebhooks } from "../src/AgentWebhooks.ts"
import { ProjectWebhooks } from "../src/ProjectWebhooks.ts"
import { toWebhook } from "../src/WebhookRecord.ts"
import { NewWebhook, WebhookChange, WebhookRow } from "../src/WebhookRow.ts"
import { Webhooks } from "../src/Webhooks.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import { account, freshUrl, WithoutWorker } from "./Fixture.ts"

const keysOf = (schema: { readonly fields: object }) => Object.keys(schema.fields)
/** The columns that follow from `filters`. */
const limits = ["agent_id", "agent_public_id", "project_id"] as const
/** The settings that a new webhook is made with; it is active. */
const made = webhookSettings.filter((setting) => setting !== "is_active")
type Setting = (typeof webhookSettings)[number]

describe("the list of a webhook's fields", () => {
  it("gives the bodies of POST and PATCH the settings, POST without is_active, and nothing else", () => {
    expect(keysOf(WebhookCreate)).toEqual(made)
    expect(keysOf(WebhookUpdate)).toEqual(webhookSettings)
    expectTypeOf<keyof typeof WebhookCreate.Type>().toEqualTypeOf<Exclude<Setting, "is_active">>()
    expectTypeOf<typeof WebhookUpdate.Type>().toEqualTypeOf<
      Partial<{ readonly [K in Setting]: (typeof WebhookUpdate.Type)[K] }>
    >()
  })

  it("keeps every setting with the same type in the response, the row and the columns written", () => {
    for (const schema of [Webhook, WebhookRow, WebhookChange]) {
      expect(keysOf(schema).filter((key) => webhookSettings.some((setting) => setting === key))).toEqual(
        webhookSettings
      )
    }
    expectTypeOf<Pick<Webhook, Setting>>().toEqualTypeOf<Pick<WebhookRow, Setting>>()
    expectTypeOf<{ readonly [K in Setting]: Exclude<WebhookChange[K], undefined> }>().toEqualTypeOf<
      Pick<WebhookRow, Setting>
    >()
    expectTypeOf<NewWebhook["filters"]>().toEqualTypeOf<WebhookFilters>()
  })

  it("changes the settings and the columns that follow from filters, and no other", () => {
    expect(keysOf(WebhookChange).toSorted()).toEqual([...webhookSettings, ...limits].toSorted())
    expect(keysOf(NewWebhook).toSorted()).toEqual(
      [...made, ...limits, "org_id", "secret", "is_agent_managed", "is_project_managed", "api_version"].toSorted()
    )
  })

  it("shows org_id and secret in no response", () => {
    expect(keysOf(WebhookRow).filter((key) => !keysOf(Webhook).includes(key))).toEqual(["org_id", "secret"])
  })

  it("refuses an unknown key of filters in both bodies", () => {
    const body = { url: "https://example.com", events: ["*"], filters: { agent: 1 } }
    expect(() => Schema.decodeUnknownSync(WebhookCreate)(body)).toThrow("agent")
    expect(() => Schema.decodeUnknownSync(WebhookUpdate)(body)).toThrow("agent")
  })
})

layer(WithoutWorker, { excludeTestServices: true })("a webhook with its list of fields", (it) => {
  it.effect("has a column for every field of the row and the insert", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string }>`
        select column_name as name from information_schema.columns
        where table_schema = current_schema() and table_name = 'webhooks'`
      const listed = new Set([...keysOf(WebhookRow), ...keysOf(NewWebhook)])
      expect(columns.map(({ name }) => name).toSorted()).toEqual([...listed].toSorted())
    })
  )

  it.effect("is answered with exactly the fields of the response, in their order, of every level", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhooks = yield* Webhooks
      const org = { org_id: owner.org_id, project_id: null }
      const body = { url: freshUrl(), events: ["call.ended" as const] }
      yield* webhooks.create(org, { ...body, filters: { agent_id: owner.agent.id } })
      yield* Effect.flatMap(AgentWebhooks, (all) => all.put(owner.agent, body))
      yield* Effect.flatMap(ProjectWebhooks, (all) => all.update(owner, { webhook_url: freshUrl() }))
      const rows = yield* webhooks.list(org)
      expect(rows.map((row) => [row.is_project_managed, row.is_agent_managed])).toEqual([
        [true, false],
        [false, true],
        [false, false]
      ])
      for (const row of rows) {
        expect(Object.keys(toWebhook(row))).toEqual(keysOf(Webhook))
        yield* Schema.validate(Webhook, { onExcessProperty: "error" })(toWebhook(row))
      }
    })
  )

  it.effect("is updated in the settings that are given, and in no other column", () =>
    Effect.gen(function* () {
      const { agent, org_id, project_id } = yield* account
      const repo = yield* WebhooksRepo
      const org = { org_id, project_id: null }
      const row = yield* repo.insert(
        NewWebhook.make({ org_id, url: freshUrl(), events: ["call.ended"], secret: "0".repeat(64) })
      )
      expect(row).toMatchObject({ filters: {}, agent_id: null, project_id: null, is_active: true })
      const settings = { url: freshUrl(), events: ["*"], filters: { agent_id: agent.id }, is_active: false }
      for (const setting of webhookSettings) {
        const before = Option.getOrThrow(yield* repo.find(org, row.id))
        const change = Struct.pick(settings, setting)
        const after = Option.getOrThrow(yield* repo.change(org, row.id, change))
        expect(after).toEqual({ ...before, ...change, updated_at: after.updated_at })
      }
      const limited = { agent_id: agent.id, project_id, agent_public_id: agent.public_id }
      expect(Option.getOrThrow(yield* repo.change(org, row.id, limited))).toMatchObject({
        ...settings,
        agent_id: agent.id,
        project_id
      })
    })
  )
})
