import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { account, empty, lettersTo, Post, press, pressed, Quiet, until, webhookOf } from "./Town.ts"

/** One more node on the same database, whose life the test has in its hands. */
const node = (id: string) =>
  Effect.gen(function* () {
    const gone = yield* Deferred.make<void>()
    const lease = Layer.succeed(NodeLease, {
      current: Effect.succeed({ id, lost: Deferred.await(gone) }),
      others: Effect.succeed(1),
      onDeath: () => Effect.void
    })
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    yield* Layer.buildWithScope(Layer.provide(DeliveryWorker, lease), scope)
    return { lose: Deferred.succeed(gone, undefined), stop: Scope.close(scope, Exit.void) }
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
})
