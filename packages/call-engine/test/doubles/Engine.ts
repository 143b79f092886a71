import { Agents } from "@svc/agents/Agents"
import * as AgentsSlice from "@svc/agents/AgentsSlice"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import * as KnowledgeSlice from "@svc/knowledge/KnowledgeSlice"
import * as NumbersSlice from "@svc/numbers/NumbersSlice"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import * as SmsSlice from "@svc/sms/SmsSlice"
import { PublicUrl } from "@svc/urls/PublicUrl"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, ConfigProvider, Effect, Layer } from "effect"
import * as CallEngineSlice from "../../src/CallEngineSlice.ts"
import { Ticker } from "../../src/media/Ticker.ts"
import { SpeechCache } from "../../src/speech/SpeechCache.ts"
import * as AgentServerDouble from "../../src/testing/AgentServerDouble.ts"
import { MemoryStore } from "./MemoryStore.ts"
import { Phone } from "./Phone.ts"

const settings = ConfigProvider.fromMap(
  new Map([
    ["SVC_ALLOW_PRIVATE_URLS", "true"],
    ["SVC_PLUGINS", "@svc/plugin-simulated"]
  ])
)

/** Billing and accounts. */
export const Charging = BillingSlice.services.pipe(Layer.provideMerge(AuthSlice.accounts))

/** The services of one node that the engine requires, on a given database. */
export const Services = SmsSlice.services.pipe(
  Layer.provideMerge(NumbersSlice.services),
  Layer.provideMerge(KnowledgeSlice.services),
  Layer.provideMerge(AgentsSlice.services),
  Layer.provideMerge(Layer.mergeAll(WebhooksSlice.agentWebhooks, Charging, AuthSlice.services)),
  Layer.provide(BillingSlice.balance),
  Layer.provideMerge(DueCheck.layer),
  Layer.provideMerge(Layer.mergeAll(Outbox.layerWithoutDeliveries, NodeLease.layer, UrlSafety.layer)),
  Layer.provideMerge(Layer.mergeAll(PluginLoader.layer(), Resolver.layer)),
  Layer.provide(Layer.setConfigProvider(ConfigProvider.orElse(settings, () => ConfigProvider.fromEnv())))
)

/** The same on a new database. Everything is real except the socket of the phone. */
export const Base = Services.pipe(Layer.provideMerge(TestDatabase.layer))

/** The engine. Recordings go into memory, and their links to `https://svc.test`. */
export const Engine = CallEngineSlice.services.pipe(
  Layer.provideMerge(
    Layer.merge(
      Layer.merge(Ticker.layer, SpeechCache.layerMemory),
      Layer.suspend(() => new MemoryStore().layer)
    )
  ),
  Layer.provide(Layer.succeed(PublicUrl, { base: "https://svc.test" }))
)

/** A node of its own on the given database, with its own plugins; it ends with its scope. */
export const node = Effect.suspend(() => Layer.build(Layer.fresh(Layer.provideMerge(Engine, Services))))

let numbers = 0

/** An agent with its server and a number of its own. */
export const agentOnNumber = (
  answer: (request: AgentServerDouble.Received) => AgentServerDouble.Answer,
  options: { readonly serverUrl?: string; readonly recording?: boolean } = {}
) =>
  Effect.gen(function* () {
    const server = yield* AgentServerDouble.start(answer)
    const accounts = yield* Accounts
    const agents = yield* Agents
    const phoneNumbers = yield* PhoneNumbers
    const org = yield* accounts.createOrganization({
      name: "Test",
      tier: "enterprise",
      balance_eur: BigDecimal.fromBigInt(0n)
    })
    const project = yield* accounts.createProject(org.id, { name: "Test", description: null })
    const principal: ProjectPrincipal = {
      kind: "project",
      key_id: 1,
      scope: "full",
      org: { id: org.id, public_id: org.public_id, tier: "enterprise" },
      project: { id: project.id, public_id: project.public_id }
    }
    const created = yield* agents.create(principal, {
      name: "Test",
      server_url: options.serverUrl ?? server.url,
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: options.recording ?? false,
      end_call_enabled: true
    })
    const number = `+1555${String(1_000_000 + ++numbers + process.pid * 100).slice(-7)}`
    const imported = yield* phoneNumbers.import(principal, { number, telephony: "simulated" })
    yield* phoneNumbers.assign(principal.project, String(imported.id), created.agent.public_id)
    return {
      server,
      number,
      owner: principal,
      project: principal.project,
      secret: created.server_secret,
      agent: created.agent
    }
  })

/** A phone on the simulated network. */
export const phone = Effect.flatMap(Providers, ({ telephony }) =>
  Phone.connect(telephony.find((t) => t.id === "simulated")?.routes ?? [])
)

/** A phone that has dialled. */
export const dial = (to: string, options: Readonly<Record<string, unknown>> = {}) =>
  Effect.tap(phone, (caller) => Effect.sync(() => caller.send({ event: "dial", to, from: "+15550000001", ...options })))

/** Repeats an effect every 10 ms until its result satisfies the predicate. */
export const until = <A, E, R>(look: Effect.Effect<A, E, R>, isSo: (found: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.flatMap(look, (found) =>
    isSo(found)
      ? Effect.succeed(found)
      : Effect.zipRight(
          Effect.sleep("10 millis"),
          Effect.suspend(() => until(look, isSo))
        )
  )

/** A `call.started` answer whose model follows a script. */
export const configuration = (script: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  json: {
    system_prompt: `You answer the phone.\n\`\`\`script\n${JSON.stringify(script)}\n\`\`\``,
    first_message: "Hello.",
    ...more
  }
})
