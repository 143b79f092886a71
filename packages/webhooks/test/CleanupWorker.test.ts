import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Cron } from "@svc/cluster/Cron"
import { ConfigProvider, Effect, Layer, Ref } from "effect"
import { CleanupWorker } from "../src/CleanupWorker.ts"
import { Deliveries } from "../src/Deliveries.ts"
import { DeliveriesRepo } from "../src/DeliveriesRepo.ts"
import { type Account, account, appendEvents, WithoutWorker, webhookOf } from "./Fixture.ts"

const page = { limit: 100, after: undefined }

/** What the worker does each hour, done now: kept for so many days. */
const clean = (days: string) =>
  Effect.gen(function* () {
    const works = yield* Ref.make<ReadonlyArray<Effect.Effect<void>>>([])
    const cron = Layer.succeed(Cron, { schedule: (_, work) => Ref.update(works, (all) => [...all, work]) })
    const config = ConfigProvider.fromMap(new Map([["SVC_WEBHOOK_RETENTION_DAYS", days]]))
    yield* Layer.build(CleanupWorker.pipe(Layer.provide(cron), Layer.provide(Layer.setConfigProvider(config))))
    yield* Effect.all(yield* Ref.get(works))
  }).pipe(Effect.scoped)

/** Events that are this old, as the outbox left them. */
const events = (owner: Account, days: number, actions: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const call = yield* newCallId
    const ids = yield* appendEvents(owner, actions, call)
    yield* sql`
      update events set created_at = now() - ${days} * interval '1 day' where id = any(${ids}::text[])`
    return ids
  })

/** All events that wait become deliveries. */
const actionsOf = (owner: Account) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly action: string }>`
      select data ->> 'action' as action from events where org_id = ${owner.org_id} order by seq`
    return rows.map(({ action }) => action)
  })

/** An attempt of an event, this old. */
const attempt = (owner: Account, webhook_id: number, event_id: string, days: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const repo = yield* DeliveriesRepo
    const id = yield* repo.record({
      webhook_id,
      org_id: owner.org_id,
      event_id,
      event: "call.dtmf.received",
      url: "https://example.com",
      status_code: 200,
      error: null,
      created_at: new Date(0)
    })
    yield* sql`update webhook_attempts set created_at = now() - ${days} * interval '1 day' where id = ${id}`
    return id
  })

layer(WithoutWorker, { excludeTestServices: true })("the clean-up of events", (it) => {
  it.effect("removes events and attempts that are old, and nothing younger", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner, ["call.ended"])
      const [old] = yield* events(owner, 30.01, ["old"])
      const [young] = yield* events(owner, 29.99, ["young"])
      yield* attempt(owner, webhook.id, String(old), 30.01)
      const kept = yield* attempt(owner, webhook.id, String(young), 29.99)
      yield* clean("30")
      expect(yield* actionsOf(owner)).toEqual(["young"])
      const { deliveries } = yield* Effect.flatMap(Deliveries, (all) => all.ofWebhook(webhook.id, page))
      expect(deliveries.map(({ id }) => id)).toEqual([kept])
      yield* clean("29")
      expect(yield* actionsOf(owner)).toEqual([])
    })
  )

  it.effect("removes many more than go in one batch, and what is owed does not stop it", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner, ["call.dtmf.received"])
      yield* events(
        owner,
        50,
        Array.from({ length: 1_200 }, (_, n) => `owed ${n}`)
      )
      yield* sql`update webhooks set is_active = false where id = ${webhook.id}`
      yield* events(
        owner,
        40,
        Array.from({ length: 2_500 }, (_, n) => `done ${n}`)
      )
      yield* sql`
        insert into webhook_attempts (webhook_id, org_id, event_id, event, url, attempt, success, created_at)
        select ${webhook.id}, ${owner.org_id}, 'whe_' || n, 'call.ended', '', 1, true, now() - interval '40 days'
        from generate_series(1, 2500) n`
      yield* clean("30")
      const left = yield* actionsOf(owner)
      expect(left).toHaveLength(1_200)
      expect(left.every((action) => action.startsWith("owed"))).toBe(true)
      expect(yield* sql`select id from webhook_attempts where webhook_id = ${webhook.id}`).toEqual([])
    })
  )

  it.effect("keeps an old event that waits for an attempt, or that is a dead letter", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const repo = yield* DeliveriesRepo
      const deliveries = yield* Deliveries
      const deadFor = yield* webhookOf(owner, ["call.dtmf.received"])
      yield* events(owner, 40, ["dead"])
      yield* repo.deadLetterPending(deadFor.id)
      yield* sql`update webhooks set is_active = false where id = ${deadFor.id}`
      const waitsFor = yield* webhookOf(owner, ["call.dtmf.received"])
      yield* events(owner, 40, ["waiting"])
      yield* clean("30")
      expect(yield* actionsOf(owner)).toEqual(["dead", "waiting"])

      // A dead letter is one for as many days as it is kept itself, and can be sent again until then.
      const { items } = yield* deliveries.deadLetters(deadFor.id, page)
      expect(items.map(({ payload }) => payload.data["action"])).toEqual(["dead"])
      expect(yield* deliveries.resendAll(deadFor.id)).toBe(1)
      yield* clean("30")
      expect(yield* actionsOf(owner)).toContain("dead")
      yield* repo.deadLetterPending(deadFor.id)
      yield* sql`update webhook_dead_letters set failed_at = now() - interval '31 days' where webhook_id = ${deadFor.id}`
      yield* clean("30")
      expect((yield* deliveries.deadLetters(deadFor.id, page)).items).toEqual([])
      expect(yield* actionsOf(owner)).toEqual(["waiting"])

      // What waited and was delivered is old enough to go at once.
      yield* sql`delete from webhook_deliveries where webhook_id = ${waitsFor.id}`
      yield* clean("30")
      expect(yield* actionsOf(owner)).toEqual([])
    })
  )
})
