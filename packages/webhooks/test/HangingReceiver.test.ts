import type * as http from "node:http"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { Clock, ConfigProvider, Effect, Layer } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { Receivers } from "../src/delivery/Receivers.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import { serve } from "./Receiver.ts"
import { account, pressed, Quiet, until } from "./Town.ts"

const events = 1_000
const calls = 100

/** Delivers over real connections, to this machine. */
const Node = DeliveryWorker.pipe(
  Layer.provide(Receivers.layer),
  Layer.provide(UrlSafety.layer),
  Layer.provide(Resolver.layer),
  Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_ALLOW_PRIVATE_URLS", "true"]]))))
)

/** Sleeps as long as any, and shows the same time for ever: no attempt becomes too old. */
const standingClock = (): Clock.Clock => {
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

layer(Layer.provideMerge(NodeLease.layer, Quiet), { excludeTestServices: true })(
  "a receiver that accepts and never answers",
  (it) => {
    it.scoped("holds up none of nine others: all of theirs is delivered while its first attempts are still open", () =>
      Effect.gen(function* () {
        const owner = yield* account
        const outbox = yield* Outbox
        const repo = yield* WebhooksRepo
        const sql = yield* SqlClient.SqlClient
        const subscribed = (url: string) =>
          repo.insert({ org_id: owner.org_id, url, events: ["*"], secret: "s", filters: {}, agent_public_id: null })

        const asked: Array<http.ServerResponse> = []
        let hangs = true
        const hanging = yield* serve((_, response) => {
          asked.push(response)
          if (!hangs) response.end()
        })
        const got = Array.from({ length: 9 }, () => new Set<unknown>())
        let requests = 0
        const hung = yield* subscribed(hanging.url)
        for (const ids of got) {
          const { url } = yield* serve((request, response) => {
            requests++
            ids.add(request.headers["x-svc-delivery"])
            response.end()
          })
          yield* subscribed(url)
        }
        const attempts = (condition: "=" | "<>") =>
          Effect.map(
            sql<{ readonly n: number }>`
            select count(*) as n from webhook_attempts
            where org_id = ${owner.org_id} and webhook_id ${sql.literal(condition)} ${hung.id}`,
            (rows) => rows[0]?.n
          )

        yield* Effect.withClock(Layer.build(Node), standingClock())
        const names = Array.from({ length: events / calls }, (_, n) => String(n))
        const drafts = (yield* Effect.replicateEffect(newCallId, calls)).flatMap((call) =>
          names.map((name) => pressed(owner, call, name, "2026-11-01T09:30:00.000Z"))
        )
        const ids = new Set<unknown>(yield* outbox.appendAll(drafts))
        yield* until(attempts("<>"), (made) => made === 9 * events)
        for (const seen of got) expect(seen).toEqual(ids)
        expect(requests).toBe(9 * events)
        // Some of its own were begun, no more than one webhook may have, and not one of them has ended.
        expect(asked.length).toBeGreaterThan(0)
        expect(asked.length).toBeLessThanOrEqual(32)
        expect(asked.every(({ destroyed, writableEnded }) => !destroyed && !writableEnded)).toBe(true)
        expect(yield* attempts("=")).toBe(0)

        // Once it answers it gets the rest, each once.
        hangs = false
        for (const response of asked) response.end()
        yield* until(attempts("="), (made) => made === events)
        expect(asked).toHaveLength(events)
        expect(new Set(asked.map(({ req }) => req.headers["x-svc-delivery"]))).toEqual(ids)
      })
    )
  }
)
