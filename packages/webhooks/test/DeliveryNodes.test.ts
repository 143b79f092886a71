import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { type Ask, QueueRepo } from "../src/delivery/QueueRepo.ts"
import { account, empty, lettersTo, Post, press, pressed, Quiet, until, webhookOf } from "./Town.ts"

/** One more node on the same database, whose life the test has in its hands; with a queue of its own when given one. */
const node = (id: string, queue?: typeof QueueRepo.Service) =>
  Effect.gen(function* () {
    const own = queue ?? (yield* QueueRepo)
    const gone = yield* Deferred.make<void>()
    const lease = Layer.succeed(NodeLease, {
      current: Effect.succeed({ id, lost: Deferred.await(gone) }),
      others: Effect.succeed(1),
      onDeath: () => Effect.void
    })
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    yield* Layer.buildWithScope(
      DeliveryWorker.pipe(Layer.provide(lease), Layer.provide(Layer.succeed(QueueRepo, own))),
      scope
    )
    return { lose: Deferred.succeed(gone, undefined), stop: Scope.close(scope, Exit.void) }
  })

/** The queue as a node has it that takes deliveries only once. */
const once = Effect.map(QueueRepo, (queue) => {
  let hasTaken = false
  return {
    ...queue,
    claim: (ask: Ask) =>
      Effect.gen(function* () {
        const taken = hasTaken ? [] : yield* queue.claim(ask)
        if (taken.length > 0) hasTaken = true
        return taken
      })
  }
})

layer(Quiet, { excludeTestServices: true })("deliveries by several nodes", (it) => {
  it.scoped("two nodes share the work, each delivery is made once, and the events of a call stay in order", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhooks = yield* Effect.replicateEffect(webhookOf(owner), 3)
      const outbox = yield* Outbox
      yield* node("node_a")
      yield* node("node_b")
      const calls = yield* Effect.replicateEffect(newCallId, 10)
      const names = Array.from({ length: 20 }, (_, n) => String(n))
      for (const name of names) {
        yield* outbox.appendAll(calls.map((call) => pressed(owner, call, name, "2026-11-01T09:30:00.000Z")))
      }
      yield* until(empty, (is) => is)
      for (const { url } of webhooks) {
        const letters = yield* lettersTo(url)
        expect(letters).toHaveLength(200)
        expect(new Set(letters.map(({ event_id }) => event_id)).size).toBe(200)
        for (const call of calls) {
          const ofCall = letters.filter(({ data }) => data["call_id"] === call)
          expect(ofCall.map(({ data }) => data["action"])).toEqual(names)
        }
      }
    })
  )

  it.scoped("what a node had when it died is sent by another, once the node's lease is settled, and not before", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { manners } = yield* Post
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      manners.set(webhook.url, () => "never")
      const first = yield* node("node_dying")
      const call = yield* newCallId
      const [id] = yield* press(owner, ["one"], call)
      yield* until(lettersTo(webhook.url), (all) => all.length === 1)
      yield* first.lose
      manners.set(webhook.url, () => 200)
      yield* node("node_heir")
      const [next] = yield* press(owner, ["two"], call)
      // The heir works, and other calls do not wait. But what may still be under way elsewhere, and what comes after it in
      // its call, is not its to send.
      const [other] = yield* press(owner, ["three"])
      const before = yield* until(lettersTo(webhook.url), (all) => all.length === 2)
      expect(before.map(({ event_id }) => event_id)).toEqual([id, other])
      yield* sql`update webhook_deliveries set leased_by = null where leased_by = 'node_dying'`
      const letters = yield* until(lettersTo(webhook.url), (all) => all.length === 4)
      expect(letters.map(({ event_id }) => event_id)).toEqual([id, other, id, next])
      yield* until(empty, (is) => is)
    })
  )

  it.scoped("a node that ends in good order waits for its requests, and leaves the rest to others at once", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const only = yield* node("node_leaving")
      yield* press(owner, ["one"])
      yield* until(lettersTo(webhook.url), (all) => all.length === 1)
      yield* only.stop
      expect(yield* empty).toBe(true)
      yield* press(owner, ["later"])
      expect(yield* sql`select leased_by from webhook_deliveries where leased_by is not null`).toEqual([])
      yield* node("node_next")
      yield* until(lettersTo(webhook.url), (all) => all.length === 2)
      yield* until(empty, (is) => is)
    })
  )

  it.scoped("a delivery that hangs at one node holds up its own call at the other, and no other call", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { held, manners } = yield* Post
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      manners.set(webhook.url, ({ data }) => (data["action"] === "hangs" ? "held" : 200))
      yield* node("node_hanging", yield* once)
      const call = yield* newCallId
      const [hanging] = yield* press(owner, ["hangs"], call)
      yield* until(lettersTo(webhook.url), (all) => all.length === 1)
      yield* node("node_other")
      const later = yield* press(owner, ["2", "3", "4"], call)
      const calls = yield* Effect.replicateEffect(newCallId, 50)
      const ids = yield* Effect.forEach(calls, (other) => press(owner, ["a", "b"], other))
      const letters = yield* until(lettersTo(webhook.url), (all) => all.length >= 101)
      expect(new Set(letters.map(({ event_id }) => event_id))).toEqual(new Set([hanging, ...ids.flat()]))
      const left = yield* sql<{ readonly event_id: string; readonly leased_by: string | null }>`
        select event_id, leased_by from webhook_deliveries where call_id = ${call} order by id`
      expect(left.map(({ event_id }) => event_id)).toEqual([hanging, ...later])
      expect(left[0]?.leased_by).toBe("node_hanging")
      held.pop()?.(200)
      yield* until(empty, (is) => is)
      const all = yield* lettersTo(webhook.url)
      expect(all.slice(101).map(({ event_id }) => event_id)).toEqual(later)
    })
  )

  it.scoped("calls of which another node has one, however many, hold up no other call", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { held, manners } = yield* Post
      const webhook = yield* webhookOf(owner)
      manners.set(webhook.url, ({ data }) => (data["action"] === "hangs" ? "held" : 200))
      yield* node("node_hanging", yield* once)
      const hanging = yield* Effect.replicateEffect(newCallId, 20)
      const outbox = yield* Outbox
      const all = (name: string) => hanging.map((call) => pressed(owner, call, name, "2026-11-01T09:30:00.000Z"))
      yield* outbox.appendAll(all("hangs"))
      yield* until(lettersTo(webhook.url), (letters) => letters.length === 20)
      yield* outbox.appendAll(["1", "2", "3", "4"].flatMap(all))
      yield* node("node_other")
      const [id] = yield* press(owner, ["another call"])
      const letters = yield* until(lettersTo(webhook.url), (some) => some.length > 20).pipe(
        Effect.ensuring(Effect.sync(() => held.splice(0).forEach((answer) => void answer(200))))
      )
      expect(letters[20]?.event_id).toBe(id)
      yield* until(empty, (is) => is)
    })
  )

  it.scoped("the events of a call stay in order also when very many others were delivered between them", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const call = yield* newCallId
      const [first] = yield* press(owner, ["one"], call)
      yield* sql`update webhook_deliveries set leased_by = 'node_gone' where event_id = ${first ?? ""}`
      yield* sql`
        select setval(s, nextval(s) + 1000000)
        from (select pg_get_serial_sequence('webhook_deliveries', 'id')::regclass as s) as sequence`
      yield* node("node_busy")
      yield* press(owner, ["another call"])
      yield* until(lettersTo(webhook.url), (letters) => letters.length === 1)
      const [second] = yield* press(owner, ["two"], call)
      yield* press(owner, ["another call"])
      yield* until(
        lettersTo(webhook.url),
        (letters) => letters.filter(({ event_id }) => event_id !== second).length === 2
      )
      yield* sql`update webhook_deliveries set leased_by = null where leased_by = 'node_gone'`
      yield* until(empty, (is) => is)
      const ofCall = (yield* lettersTo(webhook.url)).filter(({ data }) => data["call_id"] === call)
      expect(ofCall.map(({ event_id }) => event_id)).toEqual([first, second])
    })
  )
})
