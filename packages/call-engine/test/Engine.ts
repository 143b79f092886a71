import { Agents } from "@svc/agents/Agents"
import { AgentsOnDatabase } from "@svc/agents/testing/AgentsOnDatabase"
import { Voices } from "@svc/agents/Voices"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { TierLimits } from "@svc/auth/TierLimits"
import { Tiers } from "@svc/auth/Tiers"
import { Billing } from "@svc/billing/Billing"
import { HoldsRepo } from "@svc/billing/HoldsRepo"
import { LedgerRepo } from "@svc/billing/LedgerRepo"
import { Rates } from "@svc/billing/Rates"
import { Usage } from "@svc/billing/Usage"
import { UsageRepo } from "@svc/billing/UsageRepo"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { PhoneNumbersRepo } from "@svc/numbers/PhoneNumbersRepo"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import { Sms } from "@svc/sms/Sms"
import { SmsRepo } from "@svc/sms/SmsRepo"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { BigDecimal, ConfigProvider, Effect, Layer } from "effect"
import { Callbacks } from "../src/agent-server/Callbacks.ts"
import { CallAdmission } from "../src/live/CallAdmission.ts"
import { InboundCalls } from "../src/live/InboundCalls.ts"
import { LiveCalls } from "../src/live/LiveCalls.ts"
import { LocalCallControl } from "../src/live/LocalCallControl.ts"
import { OutboundCalls } from "../src/live/OutboundCalls.ts"
import { Recovery } from "../src/live/Recovery.ts"
import { Ticker } from "../src/media/Ticker.ts"
import { Calls } from "../src/record/Calls.ts"
import { CallsRepo } from "../src/record/CallsRepo.ts"
import { Journal } from "../src/record/Journal.ts"
import { Settlement } from "../src/record/Settlement.ts"
import { Mp3Encoder } from "../src/recording/Mp3Encoder.ts"
import { PublicUrl } from "../src/recording/PublicUrl.ts"
import { Recorder } from "../src/recording/Recorder.ts"
import { RecordingLinks } from "../src/recording/RecordingLinks.ts"
import { Recordings } from "../src/recording/Recordings.ts"
import { RecordingsRepo } from "../src/recording/RecordingsRepo.ts"
import { CallMessages } from "../src/session/CallMessages.ts"
import * as CustomerServer from "./CustomerServer.ts"
import { Phone } from "./Phone.ts"
import { MemoryStore } from "./recording/MemoryStore.ts"

const settings = ConfigProvider.fromMap(
  new Map([
    ["SVC_ALLOW_PRIVATE_URLS", "true"],
    ["SVC_PLUGINS", "@svc/plugin-simulated"]
  ])
)

/** The money of calls. */
export const Charging = Layer.mergeAll(Billing.layer, Usage.layer).pipe(
  Layer.provide(Layer.mergeAll(HoldsRepo.layer, LedgerRepo.layer, UsageRepo.layer)),
  Layer.provide(Layer.mergeAll(Rates.layer, Tiers.layer, TierLimits.layer)),
  Layer.provide(AccountsRepo.layer)
)

const Texting = Sms.layer.pipe(
  Layer.provide(Layer.mergeAll(SmsRepo.layer, Rates.layer, Tiers.layer)),
  Layer.provide(AccountsRepo.layer)
)

/** Everything under the engine that one node has for itself, on a database that is given. */
export const Services = Texting.pipe(
  Layer.provideMerge(Layer.mergeAll(PhoneNumbers.layer, Outbox.layerWithoutDeliveries, NodeLease.layer, Charging)),
  Layer.provideMerge(Layer.mergeAll(AgentsOnDatabase, Accounts.layer)),
  Layer.provideMerge(Layer.mergeAll(PhoneNumbersRepo.layer, AccountsRepo.layer, UrlSafety.layer, Voices.layer)),
  Layer.provideMerge(Layer.mergeAll(PluginLoader.layer(), Resolver.layer)),
  Layer.provide(Layer.setConfigProvider(ConfigProvider.orElse(settings, () => ConfigProvider.fromEnv())))
)

/** The same on a database of its own: everything is real but the socket of the phone. */
export const Base = Services.pipe(Layer.provideMerge(TestDatabase.layer))

/** Recordings go into memory, and their links to `https://svc.test`. */
export const Recording = Recordings.layer.pipe(
  Layer.provideMerge(Layer.merge(Recorder.layer, RecordingLinks.layer)),
  Layer.provide(Mp3Encoder.layer),
  Layer.provideMerge(Layer.suspend(() => new MemoryStore().layer)),
  Layer.provide(Layer.succeed(PublicUrl, { base: "https://svc.test" }))
)

export const Engine = Layer.mergeAll(OutboundCalls.layer, InboundCalls, Recovery.onNodeDeath).pipe(
  Layer.provideMerge(Calls.layer),
  Layer.provideMerge(LocalCallControl),
  Layer.provideMerge(LiveCalls.layer),
  Layer.provideMerge(
    Layer.mergeAll(Callbacks.layer, CallMessages.layer, Journal.layer, Recording, Recovery.layer, CallAdmission.layer)
  ),
  Layer.provideMerge(Settlement.layer),
  Layer.provideMerge(Layer.mergeAll(CallsRepo.layer, RecordingsRepo.layer, Ticker.layer))
)

/** A node of its own on the given database, with its own plugins; it ends with its scope. */
export const node = Effect.suspend(() => Layer.build(Layer.fresh(Layer.provideMerge(Engine, Services))))

let numbers = 0

/** An agent with its server and a number that nobody else has. */
export const line = (
  answer: (request: CustomerServer.Received) => CustomerServer.Answer,
  options: { readonly serverUrl?: string; readonly recording?: boolean } = {}
) =>
  Effect.gen(function* () {
    const server = yield* CustomerServer.start(answer)
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

/** Looks again and again, every few milliseconds, until it is so. */
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
