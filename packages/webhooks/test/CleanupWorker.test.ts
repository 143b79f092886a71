import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Cron } from "@svc/cluster/Cron"
import { ConfigProvider, Effect, Layer, Ref } from "effect"
import { CleanupWorker } from "../src/CleanupWorker.ts"
import { Deliveries } from "../src/Deliveries.ts"
import { DeliveriesRepo } from "../src/DeliveriesRepo.ts"
import { type Account, account, appendEvents, historyOf, WithoutWorker, webhookOf } from "./Fixture.ts"

const page = { limit: 100, after: undefined }

/** Runs the hourly job once with this SVC_WEBHOOK_RETENTION_DAYS. */
const clean = (days: string) =>
  Effect.gen(function* () {
    const works = yield* Ref.make<ReadonlyArray<Effect.Effect<void>>>([])
    const cron = Layer.succeed(Cron, { schedule: (_, work) => Ref.update(works, (all) => [...all, work]) })
    const config = ConfigProvider.fromMap(new Map([["SVC_WEBHOOK_RETENTION_DAYS", days]]))
    yield* Layer.build(CleanupWorker.pipe(Layer.provide(cron), Layer.provide(Layer.setConfigProvider(config))))
    yield* Effect.all(yield* Ref.get(works))
  }).pipe(Effect.scoped)

/** Appends events, with their deliveries, that are this old. */
const events = (owner: Account, days: number, actions: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const call = yield* newCallId
    const ids = yield* appendEvents(owner, actions, call)
    yield* sql`
      update events set created_at = now() - ${days} * interval '1 day' where id = any(${ids}::text[])`
    return ids
  })

/** The actions of the events that are left. */
const actionsOf = (owner: Account) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly action: string }>`
      select data ->> 'action' as action from events where org_id = ${owner.org_id} order by seq`
    return rows.map(({ action }) => action)
  })

/** Inserts an attempt that is this old. */
const attempt = (owner: Account, webhook_id: number, event_id: string, days: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const repo = yield* DeliveriesRepo
    const id = yield* repo.record({
      webhook_id,
      owner_project_id: null,
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

layer(WithoutWorker, { excludeTestServices: true })("CleanupWorker", (it) => {
  it.effect("removes events and attempts older than SVC_WEBHOOK_RETENTION_DAYS, and no younger ones", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner, ["call.ended"])
      const [old] = yield* events(owner, 30.01, ["old"])
      const [young] = yield* events(owner, 29.99, ["young"])
      yield* attempt(owner, webhook.id, String(old), 30.01)
      const kept = yield* attempt(owner, webhook.id, String(young), 29.99)
      yield* clean("30")
      expect(yield* actionsOf(owner)).toEqual(["young"])
      const { deliveries } = yield* Effect.flatMap(Deliveries, (all) => all.ofWebhook(historyOf(webhook.id), page))
      expect(deliveries.map(({ id }) => id)).toEqual([kept])
      yield* clean("29")
      expect(yield* actionsOf(owner)).toEqual([])
    })
  )

  it.effect("removes more than one batch, past older events whose deliveries are pending", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* webhookOf(owner, ["call.dtmf.received"])
      yield* events(
        owner,
        50,
        Array.from({ length: 1_200 }, (_, n) => `pending ${n}`)
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
      expect(left.every((action) => action.startsWith("pending"))).toBe(true)
      expect(yield* sql`select id from webhook_attempts where webhook_id = ${webhook.id}`).toEqual([])
    })
  )

  it.effect("keeps an old event with a pending delivery or a dead letter", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const sql = yield* SqlClient.SqlClient
      const repo = yield* DeliveriesRepo
      const deliveries = yield* Deliveries
      const withDeadLetter = yield* webhookOf(owner, ["call.dtmf.received"])
      yield* events(owner, 40, ["dead"])
      yield* repo.deadLetterPending(withDeadLetter.id, "disabled")
      yield* sql`update webhooks set is_active = false where id = ${withDeadLetter.id}`
      const withPending = yield* webhookOf(owner, ["call.dtmf.received"])
      yield* events(owner, 40, ["pending"])
      yield* clean("30")
      expect(yield* actionsOf(owner)).toEqual(["dead", "pending"])

      // A dead letter is kept for its own retention time, and can be resent until then.
      const { items } = yield* deliveries.deadLetters(historyOf(withDeadLetter.id), page)
      expect(items.map(({ payload }) => payload.data["action"])).toEqual(["dead"])
      expect(yield* deliveries.resendAll(historyOf(withDeadLetter.id))).toBe(1)
      yield* clean("30")
      expect(yield* actionsOf(owner)).toContain("dead")
      yield* repo.deadLetterPending(withDeadLetter.id, "disabled")
      yield* sql`update webhook_dead_letters set failed_at = now() - interval '31 days' where webhook_id = ${withDeadLetter.id}`
      yield* clean("30")
      expect((yield* deliveries.deadLetters(historyOf(withDeadLetter.id), page)).items).toEqual([])
      expect(yield* actionsOf(owner)).toEqual(["pending"])

      // Once the pending delivery is done, the event is removed.
      yield* sql`delete from webhook_deliveries where webhook_id = ${withPending.id}`
      yield* clean("30")
      expect(yield* actionsOf(owner)).toEqual([])
    })
  )
})
