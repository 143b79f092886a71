import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { newCallId, newKnowledgeBaseId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import { Keys } from "@svc/auth/Keys"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { Server } from "../../src/Server.ts"
import { request } from "../servers/AccountsServer.ts"
import { json } from "../servers/Client.ts"

/** The whole server on a database of its own; answers are checked against the contract. */
const Whole = Layer.unwrapScoped(
  Effect.map(TestDatabase.freshUrl, (url) =>
    Layer.provide(
      Server,
      Layer.setConfigProvider(
        ConfigProvider.fromMap(
          new Map([
            ["SVC_DATABASE_URL", Redacted.value(url)],
            ["SVC_PORT", "0"],
            ["SVC_PLUGINS", "@svc/plugin-simulated"],
            ["SVC_ALLOW_PRIVATE_URLS", "true"],
            ["SVC_STRICT_RESPONSES", "true"],
            // Given, they are not printed.
            ["SVC_BOOTSTRAP_PROJECT_KEY", `svc_live_${"a".repeat(48)}`],
            ["SVC_BOOTSTRAP_ORG_KEY", `svc_org_${"b".repeat(48)}`],
            ["SVC_BOOTSTRAP_WORKSPACE_KEY", `svc_wsp_live_${"c".repeat(48)}`]
          ])
        )
      )
    )
  )
).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))

const server_url = "https://127.0.0.1:9/voice"
const webhook_url = "https://127.0.0.1:9/events"

/** A new project with its keys, and requests to its agents. */
const customer = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* Keys
  const balance_eur = BigDecimal.fromBigInt(0n)
  const org = yield* accounts.createOrganization({ name: "Acme", tier: "enterprise", balance_eur })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const owner = { kind: "project", org_id: org.id, project_id: project.id } as const
  const full = yield* keys.issue({ ...owner, scope: "full" }, { name: "Full" })
  const read = yield* keys.issue({ ...owner, scope: "read" }, { name: "Read" })
  const orgKey = yield* keys.issue({ kind: "org", org_id: org.id }, { name: "Org" })
  const send = (method: string, path: string, body?: unknown, key = full.key) =>
    Effect.map(
      request(method, `/v1/agents${path}`, { key: Redacted.value(key), ...(body === undefined ? {} : { body }) }),
      (answer) => ({ status: answer.status, json: json(answer) })
    )
  return { org, project, full, read, orgKey: Redacted.value(orgKey.key), orgKeyId: orgKey.id, send }
})

interface Made {
  readonly agent: { readonly id: number; readonly public_id: string; readonly [field: string]: unknown }
  readonly server_secret: string
}

const made = ({ full }: Effect.Effect.Success<typeof customer>, body: object = {}) =>
  Effect.map(
    request("POST", "/v1/agents", {
      key: Redacted.value(full.key),
      body: { name: "Reception", server_url, ...body }
    }),
    ({ status, text }): Made => {
      expect(status).toBe(201)
      return JSON.parse(text)
    }
  )

/** A knowledge base of the customer's project. */
const knowledgeBase = ({ org, project }: Effect.Effect.Success<typeof customer>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const public_id = yield* newKnowledgeBaseId
    const [row] = yield* sql<{ readonly id: number }>`
      insert into knowledge_bases (public_id, org_id, project_id, name, source_type)
      values (${public_id}, ${org.id}, ${project.id}, 'FAQ', 'text') returning id`
    return { id: row?.id ?? Number.NaN, public_id }
  })

layer(Whole, { timeout: "60 seconds", excludeTestServices: true })("/v1/agents", (it) => {
  it.effect(
    "creates, updates, clones, rotates the secrets of and deletes an agent, whose audit log stays readable",
    () =>
      Effect.gen(function* () {
        const mine = yield* customer
        const { full, send } = mine
        const { agent, ...secrets } = yield* made(mine, { webhook_url, webhook_events: ["call.ended"] })
        expect(Object.keys(secrets).sort()).toEqual([
          "server_secret",
          "server_secret_note",
          "webhook_secret",
          "webhook_secret_note"
        ])
        const at = `/${agent.public_id}`
        expect(yield* send("GET", at)).toEqual({ status: 200, json: { agent } })

        const changed = yield* send("PATCH", at, { name: " Front desk ", max_duration: 5, nonsense: true })
        expect(changed).toMatchObject({ status: 200, json: { agent: { name: "Front desk", max_duration: 60 } } })
        expect(Object.keys(changed.json)).toEqual(["agent"])

        const cloned = yield* send("POST", `${at}/clone`)
        expect(cloned).toMatchObject({ status: 201, json: { agent: { name: "Copy of Front desk", webhook_url } } })
        expect((yield* send("POST", `${at}/clone`, { name: "Night" })).json).toMatchObject({ agent: { name: "Night" } })

        const rotated = yield* send("POST", `${at}/rotate-webhook-secret`)
        expect(rotated).toEqual({
          status: 200,
          json: {
            id: agent.id,
            webhook_secret: expect.stringMatching(/^[0-9a-f]{64}$/),
            webhook_secret_note: expect.any(String)
          }
        })
        const server = yield* send("POST", `/${agent.id}/rotate-server-secret`)
        expect(server).toEqual({
          status: 200,
          json: {
            id: agent.id,
            server_secret: expect.stringMatching(/^[0-9a-f]{64}$/),
            server_secret_note: expect.any(String)
          }
        })
        expect(yield* send("DELETE", at)).toEqual({ status: 200, json: { deleted: true, agent_id: agent.public_id } })
        expect((yield* send("GET", at)).status).toBe(404)
        expect((yield* send("DELETE", at)).status).toBe(404)

        const log = yield* send("GET", `${at}/audit-log?limit=3`)
        expect(log).toMatchObject({ status: 200, json: { total: 5, limit: 3, offset: 0, has_more: true } })
        expect(log.json["audit_logs"]).toMatchObject([
          { action: "deleted", agent_id: agent.id, api_key_id: full.id },
          { action: "updated", changed_fields: ["server_secret"] },
          { action: "webhook_secret_rotated", changed_fields: ["webhook_secret"] }
        ])
        const list = yield* send("GET", "?name=NIGHT")
        expect(list.json).toMatchObject({ agents: [{ name: "Night" }], next_cursor: null })
        const answers = JSON.stringify([changed, log, list, yield* send("GET", "")])
        for (const secret of [secrets.server_secret, rotated.json["webhook_secret"], server.json["server_secret"]]) {
          expect(answers).not.toContain(secret)
        }
      })
  )

  it.effect("POST and PATCH /v1/agents answer invalid fields with the documented messages", () =>
    Effect.gen(function* () {
      const mine = yield* customer
      const { send } = mine
      const { agent } = yield* made(mine)
      const wrong = [
        [{ name: "" }, "name", "name is required."],
        [{ server_url: "" }, "server_url", "server_url cannot be removed"],
        [{ server_url: null }, "server_url", "server_url must be a string"],
        [{ server_url: "ftp://127.0.0.1/" }, "server_url", "server_url must be a valid public HTTPS URL"],
        [{ server_url: "https://169.254.169.254/" }, "server_url", "server_url blocked by SSRF filter"],
        [{ language: "en" }, "language", "language must be a supported BCP-47 code"],
        [{ voice: "Nobody" }, "voice", "voice not available for the selected language"],
        [{ max_duration: "60" }, "max_duration", "max_duration must be between 60 and 7200"],
        [{ max_duration: null }, "max_duration", "max_duration must be between 60 and 7200"],
        [{ webhook_url: "nowhere" }, "webhook_url", "webhook_url must be a valid public HTTPS URL"],
        [{ webhook_url: 1 }, "webhook_url", "webhook_url must be a string or null"],
        [{ webhook_url, webhook_events: [] }, "webhook_events", "webhook_events must not be empty"],
        [{ webhook_events: ["call.ended"] }, "webhook_events", "webhook_events needs a webhook_url"],
        [
          { knowledge_base_ids: Array.from({ length: 21 }, () => "kb_x") },
          "knowledge_base_ids",
          "knowledge_base_ids cannot exceed 20 entries"
        ],
        [
          { knowledge_base_ids: ["kb_x"] },
          "knowledge_base_ids.0",
          "knowledge_base_ids.0 is not a knowledge base of this project"
        ]
      ] as const
      for (const [body, field, message] of wrong) {
        const answer = yield* send("PATCH", `/${agent.public_id}`, body)
        const expected = { code: "VALIDATION_ERROR", message, error: message, details: { [field]: message } }
        expect(answer).toEqual({ status: 400, json: expected })
        if (field === "server_url" && message.includes("removed")) continue
        expect(yield* send("POST", "", { name: "Other", server_url, ...body })).toEqual({ status: 400, json: expected })
      }
      const unknown = yield* send("PATCH", `/${agent.public_id}`, { webhook_url, webhook_events: ["a", "b"] })
      expect(unknown).toMatchObject({ status: 400, json: { code: "VALIDATION_ERROR" } })
      for (const name of webhookEvents) expect(unknown.json["message"]).toContain(name)
      expect(Object.keys(Object(unknown.json["details"]))).toEqual(["webhook_events.0"])

      for (const body of [{}, { nonsense: 1 }]) {
        expect(yield* send("PATCH", `/${agent.public_id}`, body)).toMatchObject({
          status: 400,
          json: { message: "No valid fields to update" }
        })
      }
      for (const name of ["", null]) {
        expect((yield* send("POST", `/${agent.public_id}/clone`, { name })).status).toBe(400)
      }
      expect(yield* send("POST", `/${agent.public_id}/rotate-webhook-secret`)).toMatchObject({
        status: 400,
        json: { code: "WEBHOOK_URL_REQUIRED" }
      })
      for (const [query, field] of [
        ["limit=101", "limit"],
        ["offset=1000001", "offset"],
        ["action=touched", "action"],
        ["start_date=yesterday", "start_date"],
        ["end_date=2026-02-29", "end_date"]
      ] as const) {
        const answer = yield* send("GET", `/${agent.public_id}/audit-log?${query}`)
        expect([answer.status, Object.keys(Object(answer.json["details"]))]).toEqual([400, [field]])
      }
      expect((yield* send("GET", `/${agent.public_id}`)).json).toEqual({ agent })
    })
  )

  it.effect("links knowledge bases by both kinds of ids", () =>
    Effect.gen(function* () {
      const mine = yield* customer
      const { send } = mine
      const { id, public_id } = yield* knowledgeBase(mine)
      const { agent } = yield* made(mine, { knowledge_base_ids: [public_id, String(id)] })
      expect(agent["knowledge_base_ids"]).toEqual([{ id, public_id }])
      const emptied = yield* send("PATCH", `/${agent.id}`, { knowledge_base_ids: [] })
      expect(emptied.json).toMatchObject({ agent: { knowledge_base_ids: [] } })
    })
  )

  it.effect("does not delete or clone an agent in a call", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mine = yield* customer
      const { org, project, send } = mine
      const { agent } = yield* made(mine)
      const call = yield* newCallId
      yield* sql`
        insert into calls (public_id, org_id, project_id, agent_id, agent_public_id, telephony, to_number, status, started_at)
        values (${call}, ${org.id}, ${project.id}, ${agent.id}, ${agent.public_id}, 'simulated', '+1', 'ringing', now())`
      const code = "AGENT_HAS_ACTIVE_CALLS"
      expect(yield* send("DELETE", `/${agent.id}`)).toMatchObject({
        status: 409,
        json: { code, message: "agent has active calls" }
      })
      expect(yield* send("POST", `/${agent.id}/clone`)).toMatchObject({
        status: 409,
        json: { code, message: "cannot clone agent with active calls in progress" }
      })
      expect((yield* send("PATCH", `/${agent.id}`, { name: "In a call" })).status).toBe(200)
      yield* sql`update calls set ended_at = now() where public_id = ${call}`
      expect((yield* send("DELETE", `/${agent.id}`)).status).toBe(200)
    })
  )

  it.effect("needs a full key of the project, or an org key with X-Project-Id", () =>
    Effect.gen(function* () {
      const mine = yield* customer
      const { orgKey, orgKeyId, project, read, send } = mine
      const stranger = yield* customer
      const { agent } = yield* made(mine, { webhook_url })
      const at = `/${agent.public_id}`
      const writes = [
        ["PATCH", at, { name: "x" }],
        ["DELETE", at, undefined],
        ["POST", `${at}/clone`, {}],
        ["POST", `${at}/rotate-webhook-secret`, undefined],
        ["POST", `${at}/rotate-server-secret`, undefined]
      ] as const
      for (const [method, path, body] of writes) {
        const foreign = yield* stranger.send(method, path, body)
        expect([foreign.status, foreign.json["code"]]).toEqual([404, "AGENT_NOT_FOUND"])
        const reading = yield* send(method, path, body, read.key)
        expect([reading.status, reading.json["code"]]).toEqual([403, "READ_ONLY_KEY"])
      }
      expect((yield* stranger.send("GET", `${at}/audit-log`)).status).toBe(404)
      expect((yield* send("GET", `${at}/audit-log`, undefined, read.key)).status).toBe(200)
      const byOrg = yield* request("PATCH", `/v1/agents${at}`, {
        key: orgKey,
        headers: { "x-project-id": project.public_id },
        body: { name: "By the organization" }
      })
      expect(byOrg.status).toBe(200)
      const log = yield* send("GET", `${at}/audit-log?action=updated`)
      expect(log.json["audit_logs"]).toMatchObject([{ api_key_id: orgKeyId }])
    })
  )

  it.effect("deletes a project's agents, their webhooks and links with the project", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mine = yield* customer
      const { orgKey, project } = mine
      const base = yield* knowledgeBase(mine)
      yield* made(mine, { webhook_url, knowledge_base_ids: [base.id] })
      yield* made(mine)
      const deleted = yield* request("DELETE", `/v1/org/projects/${project.public_id}`, { key: orgKey })
      expect(deleted.status).toBe(204)
      expect(
        yield* sql`
          select (select count(*) from agents where project_id = ${project.id} and deleted_at is null) as agents,
            (select count(*) from webhooks where project_id = ${project.id}) as webhooks,
            (select count(*) from agent_knowledge_bases where knowledge_base_id = ${base.id}) as links`
      ).toEqual([{ agents: 0, webhooks: 0, links: 0 }])
    })
  )
})
