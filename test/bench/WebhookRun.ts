import { SqlClient } from "@effect/sql"
import { apiVersion, type EventDraft } from "@svc/api/events/Event"
import { eventSamples } from "@svc/api/events/EventSamples"
import { newCallId, newEventId, newOrgId } from "@svc/api/Ids"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import { Outbox } from "@svc/database/Outbox"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { DeliveriesRepo } from "@svc/webhooks/DeliveriesRepo"
import { DeliveryWorker } from "@svc/webhooks/DeliveryWorker"
import { DeliveryFanOut } from "@svc/webhooks/delivery/DeliveryFanOut"
import { deliveryRequest } from "@svc/webhooks/delivery/DeliveryRequest"
import { QueueRepo } from "@svc/webhooks/delivery/QueueRepo"
import { ReceiverClient } from "@svc/webhooks/delivery/ReceiverClient"
import { RetrySchedule } from "@svc/webhooks/delivery/RetrySchedule"
import { NewWebhook } from "@svc/webhooks/WebhookRow"
import { WebhooksRepo } from "@svc/webhooks/WebhooksRepo"
import { Clock, type ConfigProvider, Effect, Layer } from "effect"
import { Agent, request } from "undici"
import { BenchFailed, type Child } from "./Child.ts"
import type { GraphileRequests, ReceiverFigures, ReceiverRequests } from "./WebhookRequests.ts"

/** Delivery on an embedded database. */
export const services = (config: ConfigProvider.ConfigProvider) =>
  DeliveryWorker.pipe(
    Layer.provideMerge(Layer.mergeAll(QueueRepo.layer, WebhooksRepo.layer, DeliveriesRepo.layer, Outbox.layer)),
    Layer.provideMerge(DeliveryFanOut.layer),
    Layer.provide(DueCheck.layer),
    Layer.provide(Layer.mergeAll(NodeLease.layer, RetrySchedule.layer, ReceiverClient.layer)),
    Layer.provide(UrlSafety.layer.pipe(Layer.provide(Resolver.layer))),
    Layer.provideMerge(Database.layer),
    Layer.provide(Layer.setConfigProvider(config))
  )

/** Maximum of appended events that are not delivered yet. */
const maxPendingEvents = 2_000
/** Events of one transaction. */
const perAppend = 100

/** An event of typical size. */
const draft = (org_id: number, stamp: bigint, call_id: Effect.Effect.Success<typeof newCallId>): EventDraft => ({
  event: "transcript.updated",
  org_id,
  project_id: null,
  agent_id: null,
  call_id,
  timestamp: "2026-11-01T09:30:00.000Z",
  data: {
    ...eventSamples["transcript.updated"],
    call_id,
    turn: { role: "user", content: `stamp:${stamp} ${"A table for four, please. ".repeat(4)}` }
  }
})

const webhookOf = (org_id: number, url: string) =>
  Effect.flatMap(WebhooksRepo, (webhooks) =>
    webhooks.insert(NewWebhook.make({ org_id, url, events: ["*"], secret: "0".repeat(64) }))
  )

/** An organization with one webhook for all events. */
export const subscribe = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly id: number }>`
      insert into organizations (public_id, name, tier) values (${yield* newOrgId}, 'Bench', 'enterprise') returning id`
    if (row === undefined) return yield* new BenchFailed({ message: "no organization" })
    const webhook = yield* webhookOf(row.id, url)
    return { org_id: row.id, webhook_id: webhook.id }
  })

type Receiver = Child<ReceiverRequests>

/** Waits until the receiver has received `count` events. */
const received = (receiver: Receiver, count: number): Effect.Effect<ReceiverFigures, BenchFailed> =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 3_000; tries++) {
      const figures = yield* receiver.request("figures")
      if (figures.count >= count) return figures
      yield* Effect.sleep("20 millis")
    }
    return yield* new BenchFailed({ message: "not every event was delivered" })
  })

/** An event of typical size as it is sent. */
const envelope = Effect.gen(function* () {
  const { data, ...event } = draft(1, process.hrtime.bigint(), yield* newCallId)
  return { ...event, event_id: yield* newEventId, api_version: apiVersion, data: JSON.stringify(data) }
})

/** The comparison: the same deliveries as jobs of graphile-worker, which adds one history row for each. */
export const graphile = (receiver: Receiver, worker: Child<GraphileRequests>, url: string, seconds: number) =>
  Effect.gen(function* () {
    yield* receiver.request("begin")
    const { added } = yield* worker.request("saturate", { url, parts: yield* envelope, seconds })
    return yield* received(receiver, added)
  })

/** The baseline: the same request repeatedly with undici only, with the concurrency of one webhook. */
export const bare = (receiver: Receiver, url: string, seconds: number): Effect.Effect<ReceiverFigures, BenchFailed> =>
  Effect.gen(function* () {
    const { body, headers } = deliveryRequest(
      { url, secret: "0".repeat(64) },
      yield* envelope,
      yield* Clock.currentTimeMillis
    )
    const agent = new Agent({ pipelining: 1 })
    yield* receiver.request("begin")
    const until = performance.now() + seconds * 1000
    const loop = async () => {
      while (performance.now() < until) {
        const answer = await request(url, { dispatcher: agent, method: "POST", headers, body })
        await answer.body.dump()
      }
    }
    yield* Effect.promise(() => Promise.all(Array.from({ length: 32 }, loop)))
    yield* Effect.promise(() => agent.close())
    return yield* receiver.request("figures")
  })

/** The highest throughput: appends wait only for pending events. The events belong to many calls. */
export const saturated = (receiver: Receiver, org_id: number, seconds: number) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const first = yield* newCallId
    const calls = [first, ...(yield* Effect.replicateEffect(newCallId, maxPendingEvents - 1))]
    yield* receiver.request("begin")
    const until = performance.now() + seconds * 1000
    let appended = 0
    let arrived = 0
    while (performance.now() < until) {
      if (appended - arrived > maxPendingEvents) {
        yield* Effect.sleep("10 millis")
        arrived = (yield* receiver.request("figures")).count
        continue
      }
      const some = Array.from({ length: perAppend }, (_, n) => calls[(appended + n) % calls.length] ?? first)
      yield* outbox.appendAll(some.map((call) => draft(org_id, process.hrtime.bigint(), call)))
      appended += perAppend
    }
    return yield* received(receiver, appended)
  })

/** `perSecond` events, each in a transaction of its own; `receivers` webhooks get each. */
export const paced = (receiver: Receiver, org_id: number, perSecond: number, seconds: number, receivers = 1) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const call = yield* newCallId
    yield* receiver.request("begin")
    const total = perSecond * seconds
    const from = performance.now()
    for (let n = 0; n < total; n++) {
      const wait = from + (n * 1000) / perSecond - performance.now()
      if (wait > 0) yield* Effect.sleep(wait)
      yield* outbox.append(draft(org_id, process.hrtime.bigint(), call))
    }
    return yield* received(receiver, total * receivers)
  })

const crowd = 9

/** Nine webhooks alone, then together with one whose receiver accepts connections and never answers. */
export const besideHangingReceiver = (receiver: Receiver, url: string, perSecond: number, seconds: number) =>
  Effect.gen(function* () {
    const webhooks = yield* WebhooksRepo
    const { org_id } = yield* subscribe(url)
    yield* Effect.replicateEffect(webhookOf(org_id, url), crowd - 1)
    const run = paced(receiver, org_id, perSecond, seconds, crowd)
    const alone = yield* run
    const { id } = yield* webhookOf(org_id, new URL("/hang", url).href)
    const beside = yield* run
    yield* webhooks.delete({ org_id, project_id: null }, id)
    return { alone, beside }
  })
