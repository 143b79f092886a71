import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import * as AgentsSlice from "@svc/agents/AgentsSlice"
import type { ProjectPrincipal, Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import * as NumbersSlice from "@svc/numbers/NumbersSlice"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { type Messaging, type OutgoingSms, SmsFailed } from "@svc/providers/Messaging"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, Effect, Layer, Stream } from "effect"
import * as SmsSlice from "../src/SmsSlice.ts"

/** The messages that the network received, and how it answers. */
export const network: {
  readonly sent: Array<OutgoingSms>
  take: (sms: OutgoingSms) => Effect.Effect<void, SmsFailed>
} = {
  sent: [],
  take: () => Effect.void
}

const messaging = (deliversOnce: boolean): Messaging => ({
  deliversOnce,
  incoming: Stream.empty,
  send: (sms) =>
    sms.to.endsWith("0000")
      ? Effect.fail(new SmsFailed({ reason: "refused by the network" }))
      : Effect.suspend(() => {
          network.sent.push(sms)
          return Effect.as(network.take(sms), { provider_message_id: `carrier-${network.sent.length}` })
        })
})

const telephony = (id: string) => ({
  id,
  capabilities: {
    formats: [],
    dtmfIn: true,
    dtmfOut: true,
    transfer: "none" as const,
    earlyMedia: false,
    playbackMarks: "exact" as const
  },
  incoming: Stream.never,
  health: Effect.die("not asked"),
  routes: []
})

const Plugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [
    { ...telephony("texting"), sms: messaging(false) },
    { ...telephony("once"), sms: messaging(true) },
    telephony("mute")
  ],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
})
const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

/** The sms slice of one node, on the given database. */
export const Sending = SmsSlice.services.pipe(
  Layer.provideMerge(NumbersSlice.services),
  Layer.provideMerge(AgentsSlice.services),
  Layer.provide(Layer.merge(WebhooksSlice.agentWebhooks, UrlSafety.layer)),
  Layer.provideMerge(Layer.merge(BillingSlice.services, Outbox.layerWithoutDeliveries)),
  Layer.provideMerge(AuthSlice.services),
  Layer.provideMerge(DueCheck.layer),
  Layer.provideMerge(NodeLease.layer),
  Layer.provide(Layer.mergeAll(BillingSlice.balance, Dns, Plugins))
)
export const Test = Sending.pipe(Layer.provideMerge(TestDatabase.layer))

let numbers = 0

/** A project with an agent that has a number of the network, and credits in EUR. */
export const project = (tier: Tier = "payg", telephony = "texting", credits = "10") =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const agents = yield* Agents
    const phoneNumbers = yield* PhoneNumbers
    const org = yield* accounts.createOrganization({
      name: "Acme",
      tier,
      balance_eur: BigDecimal.unsafeFromString(credits)
    })
    const { id, public_id } = yield* accounts.createProject(org.id, { name: "Default", description: null })
    const owner: ProjectPrincipal = {
      kind: "project",
      key_id: 1,
      scope: "full",
      org: { id: org.id, public_id: org.public_id, tier },
      project: { id, public_id }
    }
    const { agent } = yield* agents.create(owner, {
      name: "Test",
      server_url: "https://example.com/",
      language: "en-US",
      voice: "Sarah",
      max_duration: 600,
      recording: false,
      end_call_enabled: false
    })
    const number = `+1202555${1000 + ++numbers}`
    const imported = yield* phoneNumbers.import(owner, { number, telephony })
    yield* phoneNumbers.assign(owner.project, String(imported.id), agent.public_id)
    return { owner, agent: { id: agent.id, public_id: agent.public_id }, number }
  })

/** `kind amount` of each ledger entry of messages, oldest first, and the balance, with the sum of all entries. */
export const account = (org: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const entries = yield* sql<{ readonly kind: string; readonly amount: string }>`
      select kind, amount_eur as amount from ledger_entries where org_id = ${org} and kind like 'sms%' order by id`
    const [totals] = yield* sql<{ readonly balance: string; readonly sum: string; readonly least: string }>`
      select balance_eur as balance, (select sum(amount_eur) from ledger_entries where org_id = ${org}) as sum,
        (select min(balance_after) from ledger_entries where org_id = ${org}) as least
      from balances where org_id = ${org}`
    return {
      entries: entries.map(({ amount, kind }) => `${kind} ${Number(amount)}`),
      balance: Number(totals?.balance),
      sum: Number(totals?.sum),
      least: Number(totals?.least)
    }
  })

/** The records of an organization: `sms.sent` events, ledger entries of messages, messages of its usage. */
export const books = (org: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const events = yield* sql<{ readonly data: Readonly<Record<string, unknown>>; readonly agent_id: string | null }>`
      select data, agent_id from events where org_id = ${org} and event = 'sms.sent' order by seq`
    const charged = yield* sql<{ readonly amount: string }>`
      select amount_eur as amount from ledger_entries where org_id = ${org} and kind = 'sms' order by id`
    const used = yield* sql<{ readonly sms_count: number; readonly sms_cost: string }>`
      select sms_count, sms_cost from usage_days where org_id = ${org}`
    return {
      events: events.map(({ data }) => data),
      charged: charged.map(({ amount }) => Number(amount)),
      used: used.map(({ sms_cost, sms_count }) => [sms_count, Number(sms_cost)])
    }
  })
