import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Deferred, Effect, Fiber } from "effect"
import { account, appendEvents, isQueueEmpty, requestsTo, until, WithWorker, webhookOf } from "./Fixture.ts"

const idsTo = (url: string) => Effect.map(requestsTo(url), (requests) => requests.map(({ event_id }) => event_id))

/** Seconds: longer than a node looks for announced deliveries. */
const longSeconds = 0.3
/** Nodes claim for all webhooks four times a second; the rest is for a slow machine. */
const soonMs = 1_500

/** Runs `work` in a transaction that commits when the test calls `commit`. */
const transaction = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const worked = yield* Deferred.make<A, E>()
    const released = yield* Deferred.make<void>()
    const fiber = yield* Effect.intoDeferred(work, worked).pipe(
      Effect.zipRight(Deferred.await(released)),
      sql.withTransaction,
      Effect.fork
    )
    const result = yield* Deferred.await(worked)
    return { result, commit: Effect.zipRight(Deferred.succeed(released, undefined), Fiber.join(fiber)) }
  })

layer(WithWorker, { excludeTestServices: true })("deliveries of events appended in transactions", (it) => {
  it.effect("start soon after the commit of a long transaction, and not before", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Effect.clock
      const webhook = yield* webhookOf(owner)
      const { commit, result } = yield* transaction(
        Effect.zipLeft(appendEvents(owner, ["one", "two"]), sql`select pg_sleep(${longSeconds})`)
      )
      expect(yield* idsTo(webhook.url)).toEqual([])
      yield* commit
      const committed = clock.unsafeCurrentTimeMillis()
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 2)
      expect(requests.map(({ event_id }) => event_id)).toEqual(result)
      expect((requests[1]?.at ?? Number.NaN) - committed).toBeLessThan(soonMs)
    })
  )

  it.effect("are all made when transactions commit in another order than they appended", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const first = yield* transaction(appendEvents(owner, ["one"]))
      const second = yield* transaction(appendEvents(owner, ["two"]))
      yield* second.commit
      yield* until(idsTo(webhook.url), (ids) => ids.length === 1)
      yield* first.commit
      const ids = yield* until(idsTo(webhook.url), (all) => all.length === 2)
      expect(ids).toEqual([...second.result, ...first.result])
    })
  )

  it.effect("of a long transaction are made when a million others were made meanwhile", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const slow = yield* transaction(appendEvents(owner, ["slow"]))
      yield* sql`
        select setval(s, nextval(s) + 1000000)
        from (select pg_get_serial_sequence('webhook_deliveries', 'id')::regclass as s) as sequence`
      const quick = yield* appendEvents(owner, ["quick"])
      yield* until(idsTo(webhook.url), (ids) => ids.length === 1)
      yield* slow.commit
      const ids = yield* until(idsTo(webhook.url), (all) => all.length === 2)
      expect(ids).toEqual([...quick, ...slow.result])
    })
  )

  it.effect("of a rolled back transaction are not made, and delay no others", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      yield* Effect.flip(sql.withTransaction(Effect.zipRight(appendEvents(owner, ["rolled back"]), Effect.fail("no"))))
      const [id] = yield* appendEvents(owner, ["committed"])
      yield* until(idsTo(webhook.url), (ids) => ids.length > 0)
      yield* until(isQueueEmpty, (is) => is)
      expect(yield* idsTo(webhook.url)).toEqual([id])
    })
  )

  it.effect("of 50 concurrent transactions are made once each, those of a call in order", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner)
      const change = Effect.gen(function* () {
        const call = yield* newCallId
        const one = yield* appendEvents(owner, ["one", "two"], call)
        yield* sql`select pg_sleep(random() / 50)`
        const two = yield* appendEvents(owner, ["three"], call)
        return { call, ids: [...one, ...two] }
      }).pipe(sql.withTransaction)
      const changes = yield* Effect.all(Effect.replicate(change, 50), { concurrency: "unbounded" })
      yield* until(isQueueEmpty, (is) => is)
      const requests = yield* requestsTo(webhook.url)
      expect(requests).toHaveLength(150)
      for (const { call, ids } of changes) {
        const own = requests.filter(({ data }) => data["call_id"] === call)
        expect(own.map(({ event_id }) => event_id)).toEqual(ids)
      }
    })
  )
})
