import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { type CallId, newCallId } from "@svc/api/Ids"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Exit, Layer, Logger } from "effect"
import { DeliveryFanOut } from "../src/delivery/DeliveryFanOut.ts"

/** A new organization: `webhook` creates webhooks of it, `dtmfEvent` events. */
const organization = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [org] = yield* sql<{ readonly id: number }>`
    insert into organizations (public_id, name, tier) values (${crypto.randomUUID()}, 'Acme', 'payg') returning id`
  const org_id = org?.id ?? Number.NaN
  const webhook = (events: ReadonlyArray<string>, is_active = true) =>
    Effect.map(
      sql<{ readonly id: number }>`
        insert into webhooks (org_id, url, events, secret, api_version, is_active)
        values (${org_id}, 'https://example.com/', ${events}::text[], 's', '2026-11-01', ${is_active}) returning id`,
      (rows) => rows[0]?.id ?? Number.NaN
    )
  return {
    webhook,
    dtmfEvent: (call: CallId, action: string): EventDraft => ({
      event: "call.dtmf.received",
      org_id,
      project_id: null,
      agent_id: null,
      call_id: call,
      timestamp: "2026-02-03T04:05:06.789Z",
      data: { call_id: call, agent_id: null, digit: "5", action }
    })
  }
})

/** Listens until the scope closes; returns the list of what the listener is called with. */
const listen = Effect.gen(function* () {
  const calls: Array<ReadonlyArray<readonly [webhook: number, count: number]>> = []
  yield* Effect.flatMap(DeliveryFanOut, (fanOut) =>
    fanOut.onDeliveries((created) => void calls.push([...created].toSorted(([a], [b]) => a - b)))
  )
  return calls
})

/** The pending deliveries of a call's events, in the order of their ids. */
const deliveriesOf = (call: CallId) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly webhook_id: number; readonly event_id: string }>`
      select webhook_id, event_id from webhook_deliveries where call_id = ${call} order by id`
  )

/** The actions of the stored events of a call. */
const actionsOf = (call: CallId) =>
  Effect.gen(function* () {
    const events = yield* Effect.flatMap(Outbox, (outbox) => outbox.after(0, 1_000))
    return events.filter((event) => event.call_id === call).map((event) => event.data["action"])
  })

layer(Outbox.layer.pipe(Layer.provideMerge(DeliveryFanOut.layer), Layer.provideMerge(TestDatabase.layer)))(
  "DeliveryFanOut",
  (it) => {
    it.scoped(
      "append makes a delivery of each event for each active webhook that subscribes to it, and listeners get their numbers",
      () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const acme = yield* organization
          const all = yield* acme.webhook(["*"])
          const keys = yield* acme.webhook(["call.ended", "call.dtmf.received"])
          yield* acme.webhook(["call.ended"])
          yield* acme.webhook(["*"], false)
          const other = yield* organization
          yield* other.webhook(["*"])
          const calls = yield* listen
          const call = yield* newCallId
          const ids = yield* outbox.appendAll(["1", "2", "3"].map((key) => acme.dtmfEvent(call, key)))
          expect(calls).toEqual([
            [
              [all, 3],
              [keys, 3]
            ]
          ])
          const deliveries = yield* deliveriesOf(call)
          for (const webhook of [all, keys]) {
            const own = deliveries.filter(({ webhook_id }) => webhook_id === webhook)
            expect(own.map(({ event_id }) => event_id)).toEqual(ids)
          }
          expect(deliveries).toHaveLength(6)
        })
    )

    it.scoped("listeners get isCommitted false for deliveries of an open transaction", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const fanOut = yield* DeliveryFanOut
        const sql = yield* SqlClient.SqlClient
        const acme = yield* organization
        yield* acme.webhook(["*"])
        const calls: Array<boolean> = []
        yield* fanOut.onDeliveries((_, isCommitted) => void calls.push(isCommitted))
        const call = yield* newCallId
        yield* outbox.append(acme.dtmfEvent(call, "alone"))
        yield* sql.withTransaction(outbox.append(acme.dtmfEvent(call, "in a transaction")))
        expect(calls).toEqual([true, false])
      })
    )

    it.scoped("listeners are not called for events that no webhook gets", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const acme = yield* organization
        const call = yield* newCallId
        const calls = yield* listen
        yield* outbox.append(acme.dtmfEvent(call, "1"))
        yield* acme.webhook(["*"], false)
        yield* acme.webhook(["call.ended"])
        yield* outbox.append(acme.dtmfEvent(call, "2"))
        yield* outbox.append(acme.dtmfEvent(call, "3"))
        yield* outbox.appendAll([])
        expect(calls).toEqual([])
        expect(yield* deliveriesOf(call)).toEqual([])
        expect(yield* actionsOf(call)).toEqual(["1", "2", "3"])
      })
    )

    it.scoped("a rolled back transaction leaves neither event nor delivery, although listeners were called", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        const acme = yield* organization
        const webhook = yield* acme.webhook(["*"])
        const call = yield* newCallId
        const calls = yield* listen
        const change = outbox
          .append(acme.dtmfEvent(call, "1"))
          .pipe(Effect.zipRight(Effect.fail("no")), sql.withTransaction)
        expect(Exit.isFailure(yield* Effect.exit(change))).toBe(true)
        expect(calls).toEqual([[[webhook, 1]]])
        expect(yield* actionsOf(call)).toEqual([])
        expect(yield* deliveriesOf(call)).toEqual([])
      })
    )

    it.scoped("an event that does not match its schema has no delivery; the others of its batch have", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const acme = yield* organization
        const webhook = yield* acme.webhook(["*"])
        const call = yield* newCallId
        const calls = yield* listen
        const invalid: EventDraft = {
          ...acme.dtmfEvent(call, "invalid"),
          event: "tool.timeout",
          data: { call_id: call, agent_id: null, tool_name: "t", tool_call_id: "1", timeout_seconds: Number.NaN }
        }
        const [first, , last] = yield* outbox
          .appendAll([acme.dtmfEvent(call, "a"), invalid, acme.dtmfEvent(call, "b")])
          .pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
        expect(calls).toEqual([[[webhook, 2]]])
        expect((yield* deliveriesOf(call)).map(({ event_id }) => event_id)).toEqual([first, last])
      })
    )

    it.scoped("50 concurrent appendAll make each delivery once and call listeners once each", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const acme = yield* organization
        const webhooks = [yield* acme.webhook(["*"]), yield* acme.webhook(["*"])]
        const call = yield* newCallId
        const calls = yield* listen
        const two = [acme.dtmfEvent(call, "1"), acme.dtmfEvent(call, "2")]
        yield* Effect.all(Effect.replicate(outbox.appendAll(two), 50), { concurrency: "unbounded" })
        expect(calls).toEqual(Array.from({ length: 50 }, () => webhooks.map((id) => [id, 2])))
        expect(yield* deliveriesOf(call)).toHaveLength(200)
      })
    )

    it.scoped("a listener is not called after its scope has closed; others are", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const acme = yield* organization
        yield* acme.webhook(["*"])
        const call = yield* newCallId
        const stayed = yield* listen
        const left = yield* Effect.scoped(Effect.zipLeft(listen, outbox.append(acme.dtmfEvent(call, "1"))))
        yield* outbox.append(acme.dtmfEvent(call, "2"))
        expect([left.length, stayed.length]).toEqual([1, 2])
      })
    )
  }
)
