import { expect, layer } from "@effect/vitest"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Clock, Effect, Layer } from "effect"
import { Deliveries } from "../src/Deliveries.ts"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { RetrySchedule } from "../src/delivery/RetrySchedule.ts"
import { account, lettersTo, press, Quiet, until, webhookOf } from "./Town.ts"

const firstMs = 400

const Late = DeliveryWorker.pipe(
  Layer.provide(Layer.succeed(RetrySchedule, { firstMs, afterMs: () => Effect.succeedNone })),
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(Quiet)
)

layer(Late, { excludeTestServices: true })("a schedule whose first attempt is later than the event", (it) => {
  it.effect("is kept to, in order", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const appended = yield* Clock.currentTimeMillis
      const ids = yield* press(owner, ["one", "two", "three"])
      const letters = yield* until(lettersTo(webhook.url), (all) => all.length === 3)
      expect(letters.map(({ event_id }) => event_id)).toEqual(ids)
      // Times of the database are finer than a millisecond.
      expect(Math.min(...letters.map(({ at }) => at)) - appended).toBeGreaterThanOrEqual(firstMs - 1)
    })
  )
})

layer(Quiet, { excludeTestServices: true })("events that are too young for their first attempt", (it) => {
  it.effect("are sent at once when they are replayed", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const deliveries = yield* Deliveries
      const queue = yield* QueueRepo
      const [before] = yield* press(owner, ["before there was a webhook"])
      const webhook = yield* webhookOf(owner)
      const now = yield* Clock.currentTimeMillis
      const around = (ms: number) => new Date(now + ms)
      const take = queue.claim({
        node: "node_a",
        now: around(60_000),
        room: 10,
        roomForOthers: 10,
        roomLeft: new Map(),
        firstBefore: around(-60_000),
        alone: true
      })
      const span = { from: around(-60_000).toISOString(), to: around(60_000).toISOString() }
      expect(yield* deliveries.replay(webhook.id, span)).toBe(1)
      yield* press(owner, ["too young"])
      const taken = yield* take
      expect(taken.map(({ event_id, is_replay }) => [event_id, is_replay])).toEqual([[before, true]])
    })
  )
})
