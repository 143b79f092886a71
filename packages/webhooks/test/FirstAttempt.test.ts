import { expect, layer } from "@effect/vitest"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Clock, Effect, Layer } from "effect"
import { Deliveries } from "../src/Deliveries.ts"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { RetrySchedule } from "../src/delivery/RetrySchedule.ts"
import { account, appendEvents, historyOf, requestsTo, until, WithoutWorker, webhookOf } from "./Fixture.ts"

const firstMs = 400

const LateFirstAttempt = DeliveryWorker.pipe(
  Layer.provide(Layer.succeed(RetrySchedule, { firstMs, afterMs: () => Effect.succeedNone })),
  Layer.provideMerge(DueCheck.layer),
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(WithoutWorker)
)

layer(LateFirstAttempt, { excludeTestServices: true })("a retry schedule with a delayed first attempt", (it) => {
  it.effect("first attempts start after the delay, in the order of events", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const appended = yield* Clock.currentTimeMillis
      const ids = yield* appendEvents(owner, ["one", "two", "three"])
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 3)
      expect(requests.map(({ event_id }) => event_id)).toEqual(ids)
      // The database stores fractions of a millisecond.
      expect(Math.min(...requests.map(({ at }) => at)) - appended).toBeGreaterThanOrEqual(firstMs - 1)
    })
  )
})

layer(WithoutWorker, { excludeTestServices: true })("QueueRepo.claim with firstAttemptsBefore", (it) => {
  it.effect("returns replays of events that are too young for a first attempt", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const deliveries = yield* Deliveries
      const queue = yield* QueueRepo
      const [before] = yield* appendEvents(owner, ["before the webhook"])
      const webhook = yield* webhookOf(owner)
      const now = yield* Clock.currentTimeMillis
      const around = (ms: number) => new Date(now + ms)
      const claim = queue.claim({
        node: "node_a",
        now: around(60_000),
        room: 10,
        roomPerOther: 10,
        roomByWebhook: new Map(),
        firstAttemptsBefore: around(-60_000),
        isOnlyNode: true
      })
      const span = { from: around(-60_000).toISOString(), to: around(60_000).toISOString() }
      expect(yield* deliveries.replay(historyOf(webhook.id), span)).toBe(1)
      yield* appendEvents(owner, ["too young"])
      const claimed = yield* claim
      expect(claimed.map(({ event_id, is_replay }) => [event_id, is_replay])).toEqual([[before, true]])
    })
  )
})
