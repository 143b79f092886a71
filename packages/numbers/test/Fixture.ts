import * as AgentsSlice from "@svc/agents/AgentsSlice"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, Effect, Layer, Stream } from "effect"
import * as NumbersSlice from "../src/NumbersSlice.ts"

/** A telephony plugin without calls. */
const Plugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [
    {
      id: "simulated",
      capabilities: {
        formats: [],
        dtmfIn: true,
        dtmfOut: true,
        transfer: "none",
        earlyMedia: false,
        playbackMarks: "exact"
      },
      incoming: Stream.never,
      health: Effect.die("not asked"),
      routes: []
    }
  ],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  embedding: undefined
})
const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

/** Numbers, their agents and projects, on a test database. */
export const Test = NumbersSlice.services.pipe(
  Layer.provideMerge(AgentsSlice.services),
  Layer.provide(Layer.merge(WebhooksSlice.agentWebhooks, UrlSafety.layer)),
  Layer.provideMerge(Layer.merge(AuthSlice.services, Outbox.layerWithoutDeliveries)),
  Layer.provide(Layer.mergeAll(BillingSlice.balance, Dns, Plugins)),
  Layer.provideMerge(TestDatabase.layer)
)

/** The owner of a new project. */
export const owner = Effect.gen(function* () {
  const accounts = yield* Accounts
  const balance_eur = BigDecimal.fromBigInt(0n)
  const org = yield* accounts.createOrganization({ name: "Acme", tier: "payg", balance_eur })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const principal: ProjectPrincipal = { kind: "project", key_id: 1, scope: "full", org, project }
  return principal
})
