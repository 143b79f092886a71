import { createHmac } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Outbox } from "@svc/database/Outbox"
import { Effect, Option } from "effect"
import { Deliveries } from "../src/Deliveries.ts"
import { DeliveriesRepo } from "../src/DeliveriesRepo.ts"
import { Webhooks } from "../src/Webhooks.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import {
  type Account,
  account,
  appendEvents,
  type Behavior,
  dtmfEvent,
  historyOf,
  type ReceivedRequest,
  ReceiversInMemory,
  requestsTo,
  until,
  WithWorker,
  webhookOf
} from "./Fixture.ts"

const behave = (url: string, behavior: Behavior) =>
  Effect.map(ReceiversInMemory, ({ behaviors }) => void behaviors.set(url, behavior))
const actions = (requests: ReadonlyArray<ReceivedRequest>) => requests.map((request) => request.data["action"])
const page = { limit: 100, after: undefined }

const history = (webhookId: number) =>
  Effect.flatMap(Deliveries, (deliveries) =>
    Effect.map(deliveries.ofWebhook(historyOf(webhookId), page), (found) => found.deliveries.toReversed())
  )
const deadLettersOf = (webhookId: number) =>
  Effect.flatMap(Deliveries, (deliveries) =>
    Effect.map(deliveries.deadLetters(historyOf(webhookId), page), ({ items }) => items)
  )
const rowOf = (owner: { readonly org_id: number }, id: number) =>
  Effect.flatMap(WebhooksRepo, (repo) =>
    Effect.map(repo.find({ org_id: owner.org_id, project_id: null }, id), Option.getOrThrow)
  )
const pending = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select is_replay from webhook_deliveries`)

layer(WithWorker, { excludeTestServices: true })("DeliveryWorker", (it) => {
  it.effect("sends an event to every webhook that subscribes to it, in its envelope and signed", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner, ["call.dtmf.received"])
      const unsubscribed = yield* webhookOf(owner, ["call.ended"])
      const [id] = yield* appendEvents(owner, ["one"])
      const [request] = yield* until(requestsTo(webhook.url), (all) => all.length > 0)
      expect(JSON.parse(request?.body ?? "")).toEqual({
        id,
        event: "call.dtmf.received",
        timestamp: expect.stringMatching(/^20.*Z$/),
        api_version: "2026-11-01",
        org_id: owner.org_id,
        project_id: owner.project_id,
        agent_id: owner.agent.public_id,
        data: expect.objectContaining({ action: "one", digit: "5" })
      })
      const at = request?.headers["x-webhook-timestamp"] ?? ""
      expect(at).toMatch(/^\d+$/)
      const expected = createHmac("sha256", webhook.secret)
        .update(`${at}.`)
        .update(request?.body ?? "")
        .digest("hex")
      expect(request?.headers).toEqual({
        "content-type": "application/json",
        "user-agent": "Svc-API/1.0",
        "x-webhook-event": "call.dtmf.received",
        "x-webhook-timestamp": at,
        "x-webhook-signature": `sha256=${expected}`,
        "x-svc-api-version": "2026-11-01",
        "x-svc-delivery": id
      })
      expect(yield* requestsTo(unsubscribed.url)).toEqual([])
      const records = yield* until(history(webhook.id), (all) => all.length > 0)
      expect(records).toMatchObject([
        {
          event: "call.dtmf.received",
          event_id: id,
          url: webhook.url,
          attempt: 1,
          status_code: 200,
          success: true,
          error: null
        }
      ])
    })
  )

  it.effect("attempts a failing delivery four times at the scheduled times, then makes it a dead letter", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      yield* behave(webhook.url, () => 503)
      const call = yield* newCallId
      const [id] = yield* appendEvents(owner, ["one"], call)
      const items = yield* until(deadLettersOf(webhook.id), (all) => all.length > 0)
      const requests = yield* requestsTo(webhook.url)
      expect(requests).toHaveLength(4)
      // The same body each time, with a new signature.
      expect(new Set(requests.map((request) => request.headers["x-svc-delivery"]))).toEqual(new Set([id]))
      expect(new Set(requests.map((request) => request.body)).size).toBe(1)
      const waits = requests.slice(1).map((request, index) => request.at - (requests[index]?.at ?? 0))
      for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(54)
      expect(items).toMatchObject([
        {
          event: "call.dtmf.received",
          event_id: id,
          url: webhook.url,
          attempts: 4,
          last_status_code: 503,
          last_error: "status 503",
          payload: { id, org_id: owner.org_id, data: { action: "one" } }
        }
      ])
      expect(JSON.parse(requests[0]?.body ?? "")).toEqual(items[0]?.payload)
      const records = yield* history(webhook.id)
      expect(records.map(({ attempt, status_code, success }) => [attempt, status_code, success])).toEqual(
        [1, 2, 3, 4].map((attempt) => [attempt, 503, false])
      )
      const ofCall = yield* Effect.flatMap(Deliveries, (deliveries) => deliveries.ofCall(call))
      expect(ofCall).toEqual(records)
      expect(yield* rowOf(owner, webhook.id)).toMatchObject({
        failure_count: 4,
        consecutive_failures: 4,
        is_active: true
      })
    })
  )

  it.effect("a success resets consecutive_failures and keeps failure_count", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      let times = 0
      yield* behave(webhook.url, () => (++times < 3 ? 500 : 200))
      yield* appendEvents(owner, ["one"])
      const records = yield* until(history(webhook.id), (all) => all.length === 3)
      expect(records.map(({ success }) => success)).toEqual([false, false, true])
      const row = yield* until(rowOf(owner, webhook.id), ({ consecutive_failures }) => consecutive_failures === 0)
      expect(row).toMatchObject({ failure_count: 2, is_active: true, disabled_reason: null })
      expect(row.last_failure_at).not.toBeNull()
      expect(yield* deadLettersOf(webhook.id)).toEqual([])
    })
  )

  it.effect(
    "10 consecutive failures disable a webhook; its pending deliveries become dead letters that can be resent",
    () =>
      Effect.gen(function* () {
        const owner = yield* account
        const webhook = yield* webhookOf(owner)
        const webhooks = yield* Webhooks
        const deliveries = yield* Deliveries
        yield* behave(webhook.url, () => 500)
        const names = Array.from({ length: 10 }, (_, n) => `failing ${n}`)
        // In one statement: events that were appended later might never be attempted.
        const outbox = yield* Outbox
        const drafts = yield* Effect.forEach(names, (name) =>
          Effect.map(newCallId, (call) => dtmfEvent(owner, call, name, "2026-11-01T09:30:00.000Z"))
        )
        yield* outbox.appendAll(drafts)
        const row = yield* until(rowOf(owner, webhook.id), ({ is_active }) => !is_active)
        expect(row.disabled_reason).toBe("10 consecutive failures")
        expect(row.consecutive_failures).toBeGreaterThanOrEqual(10)
        const items = yield* until(deadLettersOf(webhook.id), (all) => all.length === 10)
        expect(new Set(items.map(({ last_error }) => last_error))).toEqual(new Set(["webhook disabled"]))
        expect(new Set(items.map(({ last_status_code }) => last_status_code))).toEqual(new Set([500]))
        // A disabled webhook gets nothing, and events meanwhile make no deliveries for it.
        yield* appendEvents(owner, ["while disabled"])
        const witness = yield* webhookOf(owner)
        yield* appendEvents(owner, ["to the witness"])
        yield* until(requestsTo(witness.url), (all) => all.length > 0)
        const sent = (yield* requestsTo(webhook.url)).length

        yield* behave(webhook.url, () => 200)
        const again = yield* webhooks.update({ org_id: owner.org_id, project_id: null }, String(webhook.id), {
          is_active: true
        })
        expect(again).toMatchObject({
          is_active: true,
          consecutive_failures: 0,
          disabled_reason: null
        })
        expect(again.failure_count).toBeGreaterThanOrEqual(10)
        expect(yield* deliveries.resendAll(historyOf(webhook.id))).toBe(10)
        expect(yield* deadLettersOf(webhook.id)).toEqual([])
        const requests = yield* until(requestsTo(webhook.url), (all) => all.length === sent + 10)
        expect(actions(requests.slice(sent)).toSorted()).toEqual(names.toSorted())
        expect(requests.some((request) => request.headers["x-svc-replay"] !== undefined)).toBe(false)
      })
  )

  it.effect("410 Gone disables a webhook at once", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      yield* behave(webhook.url, () => 410)
      yield* appendEvents(owner, ["one"])
      const items = yield* until(deadLettersOf(webhook.id), (all) => all.length === 1)
      expect(items[0]).toMatchObject({ attempts: 1, last_status_code: 410, last_error: "webhook disabled" })
      expect(yield* rowOf(owner, webhook.id)).toMatchObject({ is_active: false, disabled_reason: "410 Gone" })
    })
  )

  it.effect("attempts the events of a call in order, among many events of many calls", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const calls = yield* Effect.replicateEffect(newCallId, 20)
      const names = Array.from({ length: 15 }, (_, n) => String(n))
      const outbox = yield* Outbox
      const timestamp = "2026-11-01T09:30:00.000Z"
      for (const name of names) yield* outbox.appendAll(calls.map((call) => dtmfEvent(owner, call, name, timestamp)))
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 300)
      for (const call of calls) {
        expect(actions(requests.filter(({ data }) => data["call_id"] === call))).toEqual(names)
      }
      yield* until(pending, (rows) => rows.length === 0)
      expect(new Set(requests.map(({ event_id }) => event_id)).size).toBe(300)
    })
  )

  it.effect("resend queues the event again, counts no failure, and removes its dead letter", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const deliveries = yield* Deliveries
      yield* behave(webhook.url, () => 500)
      yield* appendEvents(owner, ["one"])
      yield* until(deadLettersOf(webhook.id), (all) => all.length === 1)
      const [record] = yield* history(webhook.id)
      yield* deliveries.resend(historyOf(webhook.id), String(record?.id))
      expect(yield* deadLettersOf(webhook.id)).toEqual([])
      yield* until(deadLettersOf(webhook.id), (all) => all.length === 1)
      const requests = yield* requestsTo(webhook.url)
      expect(requests).toHaveLength(8)
      expect(yield* rowOf(owner, webhook.id)).toMatchObject({ failure_count: 4, consecutive_failures: 4 })
      expect((yield* history(webhook.id)).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 1, 2, 3, 4])
      for (const id of ["0", "999999999", "nonsense"]) {
        expect(yield* Effect.flip(deliveries.resend(historyOf(webhook.id), id))).toMatchObject({
          code: "DELIVERY_NOT_FOUND"
        })
      }
      const other = yield* webhookOf(owner)
      const error = yield* Effect.flip(deliveries.resend(historyOf(other.id), String(record?.id)))
      expect(error).toMatchObject({ code: "DELIVERY_NOT_FOUND" })
    })
  )

  it.scoped("resend, resendAll and replay announce to this node that they queued deliveries", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const deliveries = yield* Deliveries
      let announced = 0
      yield* (yield* DeliveriesRepo).onQueued(() => announced++)
      yield* appendEvents(owner, ["one"])
      const [record] = yield* until(history(webhook.id), (all) => all.length === 1)
      expect(announced).toBe(0)
      yield* deliveries.resend(historyOf(webhook.id), String(record?.id))
      expect(announced).toBe(1)
      yield* deliveries.resendAll(historyOf(webhook.id))
      expect(announced).toBe(2)
      yield* deliveries.replay(historyOf(webhook.id), { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" })
      expect(announced).toBe(3)
    })
  )

  it.effect("replay sends the events of a time again, marked and in order, if the webhook subscribes to them", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const other = yield* account
      const deliveries = yield* Deliveries
      const call = yield* newCallId
      const sql = yield* SqlClient.SqlClient
      const [from, to] = ["2026-11-01T09:30:00.000Z", "2026-11-01T09:40:00.000Z"]
      const pressedAt = (who: Account, action: string, at: string) =>
        Effect.flatMap(
          appendEvents(who, [action], call),
          ([id]) => sql`update events set created_at = ${at} where id = ${id}`
        )
      yield* pressedAt(owner, "too early", "2026-11-01T09:29:59.999Z")
      yield* pressedAt(owner, "a", from)
      yield* pressedAt(owner, "b", "2026-11-01T09:35:00.000Z")
      yield* pressedAt(other, "not ours", "2026-11-01T09:35:00.000Z")
      yield* pressedAt(owner, "c", to)
      yield* pressedAt(owner, "too late", "2026-11-01T09:40:00.001Z")
      // Created afterwards: it has received none of them.
      const webhook = yield* webhookOf(owner)
      expect(yield* deliveries.replay(historyOf(webhook.id), { from, to })).toBe(3)
      const requests = yield* until(requestsTo(webhook.url), (all) => all.length === 3)
      expect(actions(requests)).toEqual(["a", "b", "c"])
      expect(requests.map((request) => request.headers["x-svc-replay"])).toEqual(["1", "1", "1"])
      const unsubscribed = yield* webhookOf(owner, ["call.ended"])
      expect(yield* deliveries.replay(historyOf(unsubscribed.id), { from, to })).toBe(0)
      const wrong = [
        { from: to, to: from },
        { from, to: "2026-11-08T09:30:00.001Z" }
      ]
      for (const range of wrong) {
        const error = yield* Effect.flip(deliveries.replay(historyOf(webhook.id), range))
        expect(error).toMatchObject({ code: "VALIDATION_ERROR", details: { to: expect.any(String) } })
      }
    })
  )

  it.effect("replay of more than 500 events is refused and queues none", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const deliveries = yield* Deliveries
      const clock = yield* Effect.clock
      const call = yield* newCallId
      yield* appendEvents(owner, Array.from({ length: 500 }, String), call)
      const webhook = yield* webhookOf(owner)
      const range = {
        from: new Date(clock.unsafeCurrentTimeMillis() - 86_400_000).toISOString(),
        to: new Date(clock.unsafeCurrentTimeMillis() + 86_400_000).toISOString()
      }
      yield* appendEvents(owner, ["one more"], call)
      yield* until(requestsTo(webhook.url), (all) => all.length > 0)
      const error = yield* Effect.flip(deliveries.replay(historyOf(webhook.id), range))
      expect(error).toMatchObject({ code: "VALIDATION_ERROR" })
      expect(yield* pending).not.toContainEqual({ is_replay: true })
      expect((yield* requestsTo(webhook.url)).every((request) => request.headers["x-svc-replay"] === undefined)).toBe(
        true
      )
    })
  )

  it.effect(
    "a webhook that is deleted gets no pending delivery, and its attempts stay in the history of the call",
    () =>
      Effect.gen(function* () {
        const owner = yield* account
        const webhook = yield* webhookOf(owner)
        const webhooks = yield* Webhooks
        let open = false
        yield* behave(webhook.url, () => (open ? 200 : 500))
        const call = yield* newCallId
        yield* appendEvents(owner, ["one"], call)
        yield* until(history(webhook.id), (all) => all.length >= 1)
        yield* webhooks.remove({ org_id: owner.org_id, project_id: null }, String(webhook.id))
        open = true
        yield* until(pending, (rows) => rows.length === 0)
        const records = yield* Effect.flatMap(Deliveries, (deliveries) => deliveries.ofCall(call))
        expect(records.length).toBeGreaterThanOrEqual(1)
        expect(records.every(({ success }) => !success)).toBe(true)
        expect((yield* requestsTo(webhook.url)).length).toBeLessThan(4)
      })
  )
})
