import { SqlClient } from "@effect/sql"
import * as AgentsSlice from "@svc/agents/AgentsSlice"
import { KnowledgeBaseCreate } from "@svc/api/knowledge/KnowledgeBase"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { TestDatabase } from "@svc/database/TestDatabase"
import type { Embedding } from "@svc/providers/Embedding"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, type Context, Effect, Layer, Schema } from "effect"
import { Knowledge } from "../src/Knowledge.ts"
import * as KnowledgeSlice from "../src/KnowledgeSlice.ts"

const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

/** Knowledge bases, agents and projects, on the database of the test, with an embedding provider or without. */
export const servicesWith = (embedding?: Context.Tag.Service<Embedding>) => {
  const Plugins = Layer.succeed(Providers, {
    plugins: [],
    telephony: [],
    speechToText: [],
    textToSpeech: [],
    languageModel: [],
    voiceActivity: undefined,
    objectStore: undefined,
    embedding
  })
  return KnowledgeSlice.services.pipe(
    Layer.provideMerge(AgentsSlice.services),
    Layer.provide(WebhooksSlice.agentWebhooks),
    Layer.provideMerge(UrlSafety.layer),
    Layer.provideMerge(AuthSlice.services),
    Layer.provide(Layer.mergeAll(BillingSlice.balance, Dns, Plugins))
  )
}

export const services = servicesWith()

/** The same, on a test database. */
export const Test = Layer.provideMerge(services, TestDatabase.layer)

/** A new project of a new organization, as its full key sees it. */
export const owner = Effect.gen(function* () {
  const accounts = yield* Accounts
  const org = yield* accounts.createOrganization({ name: "Acme", tier: "payg", balance_eur: BigDecimal.fromBigInt(0n) })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const principal: ProjectPrincipal = { kind: "project", key_id: 1, scope: "full", org, project }
  return principal
})

const decode = Schema.decodeUnknown(KnowledgeBaseCreate)

/** Creates a base from an undecoded body. */
export const create = (by: ProjectPrincipal, body: object) =>
  Effect.gen(function* () {
    const knowledge = yield* Knowledge
    return yield* knowledge.create(by, yield* Effect.orDie(decode({ name: "FAQ", ...body })))
  })

/** The stored passages of a base, in their order. */
export const passagesOf = (id: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly id: number; readonly heading: string | null; readonly text: string }>`
      select id, heading, text from knowledge_passages where knowledge_base_id = ${id} order by position`
  ).pipe(Effect.orDie)
