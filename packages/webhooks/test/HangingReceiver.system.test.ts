import type * as http from "node:http"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { Clock, ConfigProvider, Effect, Layer } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { ReceiverClient } from "../src/delivery/ReceiverClient.ts"
import { NewWebhook } from "../src/WebhookRow.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import { account, dtmfEvent, until, WithoutWorker } from "./Fixture.ts"
import { serve } from "./Receiver.ts"

const events = 1_000
const calls = 100

/** A node that delivers over real connections. */
const Node = DeliveryWorker.pipe(
  Layer.provide(ReceiverClient.layer),
  Layer.provide(UrlSafety.layer),
  Layer.provide(Resolver.layer),
  Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_ALLOW_PRIVATE_URLS", "true"]]))))
)

/** Sleeps in real time but always returns the same time, so no attempt times out. */
const stoppedClock = (): Clock.Clock => {
  const real = Clock.make()
  const now = real.unsafeCurrentTimeMillis()
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.succeed(now),
    currentTimeNanos: real.currentTimeNanos,
    sleep: (duration) => real.sleep(duration)
  }
}

layer(DueCheck.layer.pipe(Layer.provideMerge(NodeLease.layer), Layer.provideMerge(WithoutWorker)), {
  excludeTestServices: true
})("a receiver that accepts requests and never answers", (it) => {
  it.scoped("does not delay nine others: all their deliveries complete while its first attempts are in flight", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const outbox = yield* Outbox
      const repo = yield* WebhooksRepo
      const sql = yield* SqlClient.SqlClient
      const subscribe = (url: string) =>
        repo.insert(NewWebhook.make({ org_id: owner.org_id, url, events: ["*"], secret: "s" }))

      const pending: Array<http.ServerResponse> = []
      let hangs = true
      const hanging = yield* serve((_, response) => {
        pending.push(response)
        if (!hangs) response.end()
      })
      const received = Array.from({ length: 9 }, () => new Set<unknown>())
      let requests = 0
      const hangingWebhook = yield* subscribe(hanging.url)
      for (const ids of received) {
        const { url } = yield* serve((request, response) => {
          requests++
          ids.add(request.headers["x-svc-delivery"])
          response.end()
        })
        yield* subscribe(url)
      }
      const attempts = (condition: "=" | "<>") =>
        Effect.map(
          sql<{ readonly n: number }>`
            select count(*) as n from webhook_attempts
            where org_id = ${owner.org_id} and webhook_id ${sql.literal(condition)} ${hangingWebhook.id}`,
          (rows) => rows[0]?.n
        )

      yield* Effect.withClock(Layer.build(Node), stoppedClock())
      const names = Array.from({ length: events / calls }, (_, n) => String(n))
      const drafts = (yield* Effect.replicateEffect(newCallId, calls)).flatMap((call) =>
        names.map((name) => dtmfEvent(owner, call, name, "2026-11-01T09:30:00.000Z"))
      )
      const ids = new Set<unknown>(yield* outbox.appendAll(drafts))
      yield* until(attempts("<>"), (made) => made === 9 * events)
      for (const seen of received) expect(seen).toEqual(ids)
      expect(requests).toBe(9 * events)
      // Some of its attempts have started, at most 32, and none has ended.
      expect(pending.length).toBeGreaterThan(0)
      expect(pending.length).toBeLessThanOrEqual(32)
      expect(pending.every(({ destroyed, writableEnded }) => !destroyed && !writableEnded)).toBe(true)
      expect(yield* attempts("=")).toBe(0)

      // Once it answers, it gets the rest, each once.
      hangs = false
      for (const response of pending) response.end()
      yield* until(attempts("="), (made) => made === events)
      expect(pending).toHaveLength(events)
      expect(new Set(pending.map(({ req }) => req.headers["x-svc-delivery"]))).toEqual(ids)
    })
  )
})
