import { SqlClient } from "@effect/sql"
import type { EventDraft } from "@svc/api/events/Event"
import { eventSamples } from "@svc/api/events/EventSamples"
import { AgentId, type CallId, newAgentId, newCallId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { BigDecimal, ConfigProvider, Context, Effect, Layer, Option } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import type { DeliveryRequest } from "../src/delivery/DeliveryRequest.ts"
import { ReceiverClient } from "../src/delivery/ReceiverClient.ts"
import { type AttemptResult, timedOut } from "../src/delivery/ReceiverRequests.ts"
import { FilterAgents } from "../src/FilterAgents.ts"
import { NewWebhook } from "../src/WebhookRow.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import * as WebhooksSlice from "../src/WebhooksSlice.ts"

/** A request that a receiver got; `at` in milliseconds of the test's clock. */
export interface ReceivedRequest extends DeliveryRequest {
  readonly at: number
  readonly event: string
  readonly event_id: string
  readonly data: { readonly [key: string]: unknown }
}

/** How a receiver answers: with a status, never, or when the test calls its entry of `held`. */
export type Behavior = (request: ReceivedRequest) => number | "never" | "held"

/** In-memory receivers. A URL answers 200 unless it has a behavior. */
export class ReceiversInMemory extends Context.Tag("test/ReceiversInMemory")<
  ReceiversInMemory,
  {
    readonly received: Array<ReceivedRequest>
    readonly behaviors: Map<string, Behavior>
    /** Answers the requests that are held, in the order in which they came. */
    readonly held: Array<(status: number) => void>
  }
>() {
  static readonly layer: Layer.Layer<ReceiversInMemory> = Layer.sync(ReceiversInMemory, () => ({
    received: [],
    behaviors: new Map(),
    held: []
  }))
}

/** Sends to {@link ReceiversInMemory}. */
const ClientInMemory = Layer.effect(
  ReceiverClient,
  Effect.gen(function* () {
    const { behaviors, held, received } = yield* ReceiversInMemory
    const clock = yield* Effect.clock
    return {
      post: (request: DeliveryRequest, done: (result: AttemptResult) => void) => {
        const { data, event, id } = JSON.parse(request.body)
        const arrived: ReceivedRequest = { ...request, at: clock.unsafeCurrentTimeMillis(), event, event_id: id, data }
        received.push(arrived)
        const status = behaviors.get(request.url)?.(arrived) ?? 200
        if (status === "never") return () => done(timedOut)
        const answer = (status_code: number) =>
          done({ status_code, error: status_code >= 200 && status_code < 300 ? null : `status ${status_code}` })
        if (status === "held") {
          held.push(answer)
          return () => done(timedOut)
        }
        queueMicrotask(() => answer(status))
        return () => undefined
      }
    }
  })
)

const KnownAgents = Layer.effect(
  FilterAgents,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    find: ({ org_id, project_id }, id) =>
      sql<{ readonly public_id: string }>`
        select public_id from agents
        where id = ${id} and org_id = ${org_id} and (${project_id}::bigint is null or project_id = ${project_id})`.pipe(
        Effect.map((rows) => Option.map(Option.fromNullable(rows[0]), (row) => AgentId.make(row.public_id))),
        Effect.orDie
      )
  }))
)

/** Resolves every host name to a public address. */
const PublicAddresses = Layer.succeed(Resolver, {
  resolve: (_, done) => queueMicrotask(() => done(null, [{ address: "93.184.216.34", family: 4 }]))
})

/** All services of the package with in-memory receivers, for a given database; nothing is delivered. */
export const Services = WebhooksSlice.services.pipe(
  Layer.provideMerge(
    Layer.mergeAll(WebhooksSlice.agentWebhooks, UrlSafety.layer, AuthSlice.services, WebhooksSlice.outbox)
  ),
  Layer.provideMerge(Layer.merge(ClientInMemory, KnownAgents)),
  Layer.provideMerge(ReceiversInMemory.layer),
  Layer.provide(Layer.merge(BillingSlice.balance, PublicAddresses)),
  Layer.provide(
    Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_WEBHOOK_RETRY_SCHEDULE", "0s,60ms,60ms,60ms"]])))
  )
)

/** {@link Services} on a new database. */
export const WithoutWorker = Layer.provideMerge(Services, TestDatabase.layer)

/** {@link WithoutWorker} and one node that delivers. */
export const WithWorker = DeliveryWorker.pipe(
  Layer.provideMerge(DueCheck.layer),
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(WithoutWorker)
)

/** An organization with a project and an agent. */
export const account = Effect.gen(function* () {
  const accounts = yield* Accounts
  const sql = yield* SqlClient.SqlClient
  const org = yield* accounts.createOrganization({
    name: "Acme",
    tier: "payg",
    balance_eur: BigDecimal.fromBigInt(0n)
  })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const public_id = yield* newAgentId
  const [row] = yield* sql<{ readonly id: number }>`
    insert into agents ${sql.insert({
      org_id: org.id,
      project_id: project.id,
      public_id,
      name: "Reception",
      name_folded: "reception",
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: false,
      end_call_enabled: false,
      server_url: "https://example.com",
      server_secret: "secret"
    })} returning id`
  const agent = { id: row?.id ?? Number.NaN, public_id, org_id: org.id, project_id: project.id }
  return { org_id: org.id, project_id: project.id, agent }
})
export type Account = Effect.Effect.Success<typeof account>

let addresses = 0

/** A new URL, so that tests of a file do not see each other's requests. */
export const freshUrl = (): string => `https://receiver-${++addresses}.example.com/events`

/** Creates a webhook of the organization. */
export const webhookOf = (owner: Account, events: ReadonlyArray<string> = ["*"]) =>
  Effect.gen(function* () {
    const repo = yield* WebhooksRepo
    const url = freshUrl()
    return yield* repo.insert(NewWebhook.make({ org_id: owner.org_id, url, events, secret: `secret of ${url}` }))
  })

/** The whole history of a webhook, as organization keys see it. */
export const historyOf = (webhook_id: number) => ({ webhook_id, project_id: null })

/** An event of a call; `action` identifies it. */
export const dtmfEvent = (owner: Account, call_id: CallId, action: string, timestamp: string): EventDraft => ({
  event: "call.dtmf.received",
  org_id: owner.org_id,
  project_id: owner.project_id,
  agent_id: owner.agent.public_id,
  call_id,
  timestamp,
  data: { ...eventSamples["call.dtmf.received"], call_id, agent_id: owner.agent.public_id, action }
})

/** Appends a {@link dtmfEvent} per action in one statement, of one call. */
export const appendEvents = (owner: Account, actions: ReadonlyArray<string>, call?: CallId) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const clock = yield* Effect.clock
    const call_id = call ?? (yield* newCallId)
    const timestamp = new Date(clock.unsafeCurrentTimeMillis()).toISOString()
    return yield* outbox.appendAll(actions.map((action) => dtmfEvent(owner, call_id, action, timestamp)))
  })

/** The requests that a URL got. */
export const requestsTo = (url: string) =>
  Effect.map(ReceiversInMemory, ({ received }) => received.filter((request) => request.url === url))

/** Repeats `look` until its result is good, for 20 seconds. Retries are 60 ms apart in these tests. */
export const until = <A, E, R>(look: Effect.Effect<A, E, R>, good: (seen: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let turn = 0; turn < 1_000; turn++) {
      const seen = yield* look
      if (good(seen)) return seen
      yield* Effect.sleep("20 millis")
    }
    return yield* Effect.dieMessage(`timed out; last result ${JSON.stringify(yield* look)}`)
  })

/** Whether no delivery is pending. */
export const isQueueEmpty = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`select 1 from webhook_deliveries limit 1`, (rows) => rows.length === 0)
)
