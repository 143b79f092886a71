import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { account, appendEvents, ReceiversInMemory, requestsTo, until, WithoutWorker, webhookOf } from "./Fixture.ts"

/** A node with a real lease that settles dead nodes as soon as it has started. */
const Survivor = DeliveryWorker.pipe(
  Layer.provideMerge(DueCheck.layer),
  Layer.provideMerge(NodeLease.layer),
  Layer.provide(Layer.succeed(Database, { exclusive: true, displayName: "a test database" }))
)
const startSurvivor = Layer.build(Survivor)

/** Inserts the lease of a node that the test plays. */
const begin = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`insert into nodes (id, expires_at) values (${id}, now() + interval '5 seconds')`
  )
const isSettled = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`select 1 from nodes where id = ${id} and 'webhooks.deliveries' = any(settled)`,
      (rows) => rows.length === 1
    )
  )

/** Whether a webhook has no pending delivery. */
const isDone = (webhook: { readonly id: number }) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql`select 1 from webhook_deliveries where webhook_id = ${webhook.id}`, (rows) => rows.length === 0)
  )

const claim = (node: string) =>
  Effect.flatMap(QueueRepo, (queue) =>
    queue.claim({ node, now: new Date(), room: 10, roomByWebhook: new Map(), roomPerOther: 10, isOnlyNode: true })
  )

layer(WithoutWorker, { excludeTestServices: true })("deliveries whose claim was lost", (it) => {
  it.scoped("a claim that commits after its node was settled is recovered by another node", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      yield* begin("node_cut_off")
      const [id] = yield* appendEvents(owner, ["one"])
      const claimed = yield* Deferred.make<number>()
      const settled = yield* Deferred.make<void>()
      const late = yield* Effect.fork(
        claim("node_cut_off").pipe(
          Effect.flatMap(({ length }) => Deferred.succeed(claimed, length)),
          Effect.zipRight(Deferred.await(settled)),
          sql.withTransaction
        )
      )
      expect(yield* Deferred.await(claimed)).toBe(1)
      yield* startSurvivor
      yield* until(isSettled("node_cut_off"), (is) => is)
      yield* Deferred.succeed(settled, undefined)
      yield* Fiber.join(late)
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      expect(requests.map(({ event_id }) => event_id)).toEqual([id])
      yield* until(isDone(webhook), (is) => is)
    })
  )

  it.scoped("a claim by a node that does not know yet that it is dead is recovered by another node", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { behaviors } = yield* ReceiversInMemory
      const webhook = yield* webhookOf(owner)
      yield* begin("node_asleep")
      yield* Effect.scoped(
        Effect.zipRight(
          startSurvivor,
          until(isSettled("node_asleep"), (is) => is)
        )
      )
      const awake = yield* Deferred.make<void>()
      const asleep = Layer.succeed(NodeLease, {
        current: Effect.succeed({ id: "node_asleep", lost: Deferred.await(awake) }),
        others: Effect.succeed(1),
        onDeath: () => Effect.void
      })
      behaviors.set(webhook.url, () => "never")
      const scope = yield* Scope.make()
      yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
      yield* Layer.buildWithScope(DeliveryWorker.pipe(Layer.provide(DueCheck.layer), Layer.provide(asleep)), scope)
      const [id] = yield* appendEvents(owner, ["one"])
      yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      behaviors.set(webhook.url, () => 200)
      yield* Deferred.succeed(awake, undefined)
      yield* startSurvivor
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 2)
      expect(requests.map(({ event_id }) => event_id)).toEqual([id, id])
      yield* until(isDone(webhook), (is) => is)
    })
  )

  it.scoped("a delivery whose claim is lost in a crash of the database is not attempted twice at once", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const { held, behaviors } = yield* ReceiversInMemory
      const webhook = yield* webhookOf(owner)
      behaviors.set(webhook.url, () => "held")
      yield* startSurvivor
      yield* appendEvents(owner, ["one"])
      yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      yield* sql`update webhook_deliveries set leased_by = null where webhook_id = ${webhook.id}`
      const isClaimed = sql`select 1 from webhook_deliveries where webhook_id = ${webhook.id} and leased_by is not null`
      yield* until(isClaimed, (rows) => rows.length === 1)
      expect(yield* requestsTo(webhook.url)).toHaveLength(1)
      for (const answer of held.splice(0)) answer(200)
      yield* until(isDone(webhook), (is) => is)
      expect(yield* requestsTo(webhook.url)).toHaveLength(1)
    })
  )

  it.scoped("a delivery whose success is lost in a crash that the node did not notice is attempted again", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const node = yield* Effect.flatMap(NodeLease, ({ current }) => current).pipe(Effect.provide(yield* startSurvivor))
      const [id] = yield* appendEvents(owner, ["one"])
      yield* until(requestsTo(webhook.url), (all) => all.length === 1)
      yield* until(isDone(webhook), (is) => is)
      // The row as it was before the success was recorded.
      yield* sql`
        insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, next_at, leased_by)
        select ${webhook.id}::bigint, seq, id, event, org_id, call_id, now(), ${node.id} from events where id = ${id ?? ""}`
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 2)
      expect(requests.map(({ event_id }) => event_id)).toEqual([id, id])
      yield* until(isDone(webhook), (is) => is)
    })
  )
})
