import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { type ClaimRequest, QueueRepo } from "../src/delivery/QueueRepo.ts"
import {
  account,
  appendEvents,
  dtmfEvent,
  isQueueEmpty,
  ReceiversInMemory,
  requestsTo,
  until,
  WithoutWorker,
  webhookOf
} from "./Fixture.ts"

/** Starts a node on the same database, whose lease the test controls; `queue` replaces its QueueRepo. */
const node = (id: string, queue?: typeof QueueRepo.Service) =>
  Effect.gen(function* () {
    const own = queue ?? (yield* QueueRepo)
    const lost = yield* Deferred.make<void>()
    const lease = Layer.succeed(NodeLease, {
      current: Effect.succeed({ id, lost: Deferred.await(lost) }),
      others: Effect.succeed(1),
      onDeath: () => Effect.void
    })
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    yield* Layer.buildWithScope(
      DeliveryWorker.pipe(
        Layer.provide(DueCheck.layer),
        Layer.provide(lease),
        Layer.provide(Layer.succeed(QueueRepo, own))
      ),
      scope
    )
    return { lose: Deferred.succeed(lost, undefined), stop: Scope.close(scope, Exit.void) }
  })

/** A QueueRepo that claims deliveries only once. */
const claimOnce = Effect.map(QueueRepo, (queue) => {
  let hasClaimed = false
  return {
    ...queue,
    claim: (request: ClaimRequest) =>
      Effect.gen(function* () {
        const claimed = hasClaimed ? [] : yield* queue.claim(request)
        if (claimed.length > 0) hasClaimed = true
        return claimed
      })
  }
})

layer(WithoutWorker, { excludeTestServices: true })("DeliveryWorker on several nodes", (it) => {
  it.scoped("two nodes attempt each delivery once, and the events of a call in order", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhooks = yield* Effect.replicateEffect(webhookOf(owner), 3)
      const outbox = yield* Outbox
      yield* node("node_a")
      yield* node("node_b")
      const calls = yield* Effect.replicateEffect(newCallId, 10)
      const names = Array.from({ length: 20 }, (_, n) => String(n))
      for (const name of names) {
        yield* outbox.appendAll(calls.map((call) => dtmfEvent(owner, call, name, "2026-11-01T09:30:00.000Z")))
      }
      yield* until(isQueueEmpty, (is) => is)
      for (const { url } of webhooks) {
        const requests = yield* requestsTo(url)
        expect(requests).toHaveLength(200)
        expect(new Set(requests.map(({ event_id }) => event_id)).size).toBe(200)
        for (const call of calls) {
          const ofCall = requests.filter(({ data }) => data["call_id"] === call)
          expect(ofCall.map(({ data }) => data["action"])).toEqual(names)
        }
      }
    })
  )

  it.scoped("deliveries of a dead node are attempted by another once its lease is settled, not before", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { behaviors } = yield* ReceiversInMemory
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      behaviors.set(webhook.url, () => "never")
      const first = yield* node("node_dying")
      const call = yield* newCallId
      const [id] = yield* appendEvents(owner, ["one"], call)
      yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      yield* first.lose
      behaviors.set(webhook.url, () => 200)
      yield* node("node_survivor")
      const [next] = yield* appendEvents(owner, ["two"], call)
      // The other node sends events of other calls. It does not send the delivery that may still be in flight, nor later
      // ones of the same call.
      const [other] = yield* appendEvents(owner, ["three"])
      const before = yield* until(requestsTo(webhook.url), (all) => all.length === 2)
      expect(before.map(({ event_id }) => event_id)).toEqual([id, other])
      yield* sql`update webhook_deliveries set leased_by = null where leased_by = 'node_dying'`
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 4)
      expect(requests.map(({ event_id }) => event_id)).toEqual([id, other, id, next])
      yield* until(isQueueEmpty, (is) => is)
    })
  )

  it.scoped("a node that shuts down waits for its attempts, and others can claim the rest at once", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const only = yield* node("node_leaving")
      yield* appendEvents(owner, ["one"])
      yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      yield* only.stop
      expect(yield* isQueueEmpty).toBe(true)
      yield* appendEvents(owner, ["later"])
      expect(yield* sql`select leased_by from webhook_deliveries where leased_by is not null`).toEqual([])
      yield* node("node_next")
      yield* until(requestsTo(webhook.url), (all) => all.length === 2)
      yield* until(isQueueEmpty, (is) => is)
    })
  )

  it.scoped("an attempt that hangs at one node delays its own call at the other node, and no other call", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { held, behaviors } = yield* ReceiversInMemory
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      behaviors.set(webhook.url, ({ data }) => (data["action"] === "hangs" ? "held" : 200))
      yield* node("node_hanging", yield* claimOnce)
      const call = yield* newCallId
      const [hanging] = yield* appendEvents(owner, ["hangs"], call)
      yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      yield* node("node_other")
      const later = yield* appendEvents(owner, ["2", "3", "4"], call)
      const calls = yield* Effect.replicateEffect(newCallId, 50)
      const ids = yield* Effect.forEach(calls, (other) => appendEvents(owner, ["a", "b"], other))
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length >= 101)
      expect(new Set(requests.map(({ event_id }) => event_id))).toEqual(new Set([hanging, ...ids.flat()]))
      const left = yield* sql<{ readonly event_id: string; readonly leased_by: string | null }>`
        select event_id, leased_by from webhook_deliveries where call_id = ${call} order by id`
      expect(left.map(({ event_id }) => event_id)).toEqual([hanging, ...later])
      expect(left[0]?.leased_by).toBe("node_hanging")
      held.pop()?.(200)
      yield* until(isQueueEmpty, (is) => is)
      const all = yield* requestsTo(webhook.url)
      expect(all.slice(101).map(({ event_id }) => event_id)).toEqual(later)
    })
  )

  it.scoped("many calls with deliveries at another node delay no other call", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { held, behaviors } = yield* ReceiversInMemory
      const webhook = yield* webhookOf(owner)
      behaviors.set(webhook.url, ({ data }) => (data["action"] === "hangs" ? "held" : 200))
      yield* node("node_hanging", yield* claimOnce)
      const hanging = yield* Effect.replicateEffect(newCallId, 20)
      const outbox = yield* Outbox
      const all = (name: string) => hanging.map((call) => dtmfEvent(owner, call, name, "2026-11-01T09:30:00.000Z"))
      yield* outbox.appendAll(all("hangs"))
      yield* until(requestsTo(webhook.url), (requests) => requests.length === 20)
      yield* outbox.appendAll(["1", "2", "3", "4"].flatMap(all))
      yield* node("node_other")
      const [id] = yield* appendEvents(owner, ["another call"])
      const requests = yield* until(requestsTo(webhook.url), (some) => some.length > 20).pipe(
        Effect.ensuring(Effect.sync(() => held.splice(0).forEach((answer) => void answer(200))))
      )
      expect(requests[20]?.event_id).toBe(id)
      yield* until(isQueueEmpty, (is) => is)
    })
  )

  it.scoped("the events of a call stay in order when a million others were delivered between them", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const call = yield* newCallId
      const [first] = yield* appendEvents(owner, ["one"], call)
      yield* sql`update webhook_deliveries set leased_by = 'node_gone' where event_id = ${first ?? ""}`
      yield* sql`
        select setval(s, nextval(s) + 1000000)
        from (select pg_get_serial_sequence('webhook_deliveries', 'id')::regclass as s) as sequence`
      yield* node("node_busy")
      yield* appendEvents(owner, ["another call"])
      yield* until(requestsTo(webhook.url), (requests) => requests.length === 1)
      const [second] = yield* appendEvents(owner, ["two"], call)
      yield* appendEvents(owner, ["another call"])
      yield* until(
        requestsTo(webhook.url),
        (requests) => requests.filter(({ event_id }) => event_id !== second).length === 2
      )
      yield* sql`update webhook_deliveries set leased_by = null where leased_by = 'node_gone'`
      yield* until(isQueueEmpty, (is) => is)
      const ofCall = (yield* requestsTo(webhook.url)).filter(({ data }) => data["call_id"] === call)
      expect(ofCall.map(({ event_id }) => event_id)).toEqual([first, second])
    })
  )
})
