import { SqlClient } from "@effect/sql"
import { AgentCreate } from "@svc/api/agents/AgentBody"
import { newKnowledgeBaseId } from "@svc/api/Ids"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, Effect, Layer, Schema } from "effect"
import { Agents } from "../src/Agents.ts"
import * as AgentsSlice from "../src/AgentsSlice.ts"

/** Names under example.com are public, others do not exist. */
const Dns = Layer.succeed(Resolver, {
  resolve: (hostname, done) =>
    hostname.endsWith("example.com")
      ? done(null, [{ address: "93.184.216.34", family: 4 }])
      : done(new Error("ENOTFOUND"), [])
})
/** Beside Sarah there is Jan, who speaks Dutch, and Eva, who speaks Dutch and German. */
const Plugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [],
  speechToText: [],
  textToSpeech: [
    {
      id: "test",
      voices: [
        { name: "Jan", languages: ["nl-NL"], gender: "male" },
        { name: "Eva", languages: ["nl-NL", "de-DE"], gender: "female" }
      ],
      sampleRates: [8000],
      health: Effect.die("not asked"),
      open: () => Effect.die("not asked")
    }
  ],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
})

/** Agents on a test database, with fake plugins and name resolution. */
export const Test = AgentsSlice.services.pipe(
  Layer.provide(Layer.merge(WebhooksSlice.agentWebhooks, UrlSafety.layer)),
  Layer.provideMerge(AuthSlice.services),
  Layer.provide(Layer.mergeAll(BillingSlice.balance, Dns, Plugins)),
  Layer.provideMerge(TestDatabase.layer)
)

/** A new project of a new organization, as its full key sees it. */
export const owner = Effect.gen(function* () {
  const accounts = yield* Accounts
  const org = yield* accounts.createOrganization({ name: "Acme", tier: "payg", balance_eur: BigDecimal.fromBigInt(0n) })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const principal: ProjectPrincipal = { kind: "project", key_id: 1, scope: "full", org, project }
  return principal
})

export const decode = Schema.decodeUnknownEither(AgentCreate)
export const minimal = { name: "Reception", server_url: "https://example.com/voice" }
export const webhook_url = "https://hooks.example.com/events"

/** Creates an agent from an undecoded body. */
export const create = (principal: ProjectPrincipal, body: object = {}) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    return yield* agents.create(principal, yield* Effect.orDie(decode({ ...minimal, ...body })))
  })

/** A knowledge base of the project. */
export const knowledgeBase = ({ org, project }: ProjectPrincipal) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const public_id = yield* newKnowledgeBaseId
    const [row] = yield* sql<{ readonly id: number }>`
      insert into knowledge_bases (public_id, org_id, project_id, name, source_type)
      values (${public_id}, ${org.id}, ${project.id}, 'FAQ', 'text') returning id`
    return { id: row?.id ?? Number.NaN, public_id }
  }).pipe(Effect.orDie)

/** The entries of an agent's log, newest first. */
export const logOf = (principal: ProjectPrincipal, id: string) =>
  Effect.flatMap(Agents, (agents) =>
    Effect.map(agents.auditLog(principal.project, id, { limit: 100, offset: 0 }), (page) => page.audit_logs)
  )
