import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { type CallId, newCallId } from "@svc/api/Ids"
import { DateTime, Deferred, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { Outbox } from "../src/Outbox.ts"
import { TestDatabase } from "../src/TestDatabase.ts"

const pressed = (call_id: CallId, action: string): EventDraft => ({
  event: "call.dtmf.received",
  org_id: 7,
  project_id: null,
  agent_id: null,
  call_id,
  timestamp: "2026-02-03T04:05:06.789Z",
  data: { call_id, agent_id: null, digit: "5", action }
})

const actionsOf = (call: CallId) =>
  Effect.gen(function* () {
    const events = yield* Effect.flatMap(Outbox, (outbox) => outbox.after(0, 1_000))
    return events.filter((event) => event.call_id === call).map((event) => event.data["action"])
  })

/** An organization, of which `webhook` makes webhooks and `pressed` events. */
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
    pressed: (call: CallId, action: string): EventDraft => ({ ...pressed(call, action), org_id })
  }
})

/** What a listener hears from now on. */
const hearing = Effect.gen(function* () {
  const heard: Array<ReadonlyArray<readonly [webhook: number, count: number]>> = []
  yield* Effect.flatMap(Outbox, (outbox) =>
    outbox.onAppend((owed) => void heard.push([...owed].toSorted(([a], [b]) => a - b)))
  )
  return heard
})

/** Deliveries of a call, in their order. */
const deliveriesOf = (call: CallId) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly webhook_id: number; readonly event_id: string }>`
      select webhook_id, event_id from webhook_deliveries where call_id = ${call} order by id`
  )

layer(Outbox.layer.pipe(Layer.provideMerge(TestDatabase.layer)))("Outbox", (it) => {
  it.effect("an event is read back as it was appended, with its own time and a fresh id", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      const id = yield* outbox.append(pressed(call, "unmapped"))
      const stored = (yield* outbox.after(0, 1_000)).find((event) => event.id === id)
      expect(id).toMatch(/^whe_[0-9a-z]{24}$/)
      expect(stored).toMatchObject({
        event: "call.dtmf.received",
        api_version: "2026-11-01",
        org_id: 7,
        project_id: null,
        call_id: call,
        data: { call_id: call, agent_id: null, digit: "5", action: "unmapped" }
      })
      expect(stored && DateTime.formatIso(stored.created_at)).toBe("2026-02-03T04:05:06.789Z")
    })
  )

  it.effect("an event exists only if the change that it tells of is committed", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const call = yield* newCallId
      const change = outbox.append(pressed(call, "1")).pipe(Effect.zipRight(Effect.fail("no")), sql.withTransaction)
      expect(Exit.isFailure(yield* Effect.exit(change))).toBe(true)
      expect(yield* actionsOf(call)).toEqual([])
      yield* sql.withTransaction(outbox.append(pressed(call, "2")))
      expect(yield* actionsOf(call)).toEqual(["2"])
    })
  )

  it.effect("an open transaction's events are seen by nobody else", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const call = yield* newCallId
      const appended = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const change = yield* outbox
        .append(pressed(call, "1"))
        .pipe(
          Effect.zipRight(Deferred.succeed(appended, undefined)),
          Effect.zipRight(Deferred.await(looked)),
          sql.withTransaction,
          Effect.fork
        )
      yield* Deferred.await(appended)
      expect(yield* actionsOf(call)).toEqual([])
      yield* Deferred.succeed(looked, undefined)
      yield* Fiber.join(change)
      expect(yield* actionsOf(call)).toEqual(["1"])
    })
  )

  it.effect("many events go in one statement and keep their order; none is none", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      const actions = Array.from({ length: 250 }, (_, index) => String(index))
      const ids = yield* outbox.appendAll(actions.map((key) => pressed(call, key)))
      expect(new Set(ids).size).toBe(250)
      expect(yield* actionsOf(call)).toEqual(actions)
      expect(yield* outbox.appendAll([])).toEqual([])
    })
  )

  it.effect("reading goes on after the last event seen, a page at a time", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      yield* outbox.appendAll(["a", "b", "c"].map((key) => pressed(call, key)))
      const all = yield* outbox.after(0, 1_000)
      const before = all.at(-4)?.seq ?? 0
      const page = yield* outbox.after(before, 2)
      expect(page.map((event) => event.data["action"])).toEqual(["a", "b"])
      const rest = yield* outbox.after(page.at(-1)?.seq ?? 0, 2)
      expect(rest.map((event) => event.data["action"])).toEqual(["c"])
    })
  )

  it.effect("one that does not fit its schema is left out, and holds back neither the others nor the change", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const call = yield* newCallId
      const said: Array<string> = []
      const listener = Logger.make<unknown, void>(({ message }) => void said.push(String(message)))
      const spoilt: EventDraft = {
        ...pressed(call, "spoilt"),
        event: "tool.timeout",
        data: { call_id: call, agent_id: null, tool_name: "t", tool_call_id: "1", timeout_seconds: Number.NaN }
      }
      yield* sql
        .withTransaction(outbox.appendAll([pressed(call, "a"), spoilt, pressed(call, "b")]))
        .pipe(Effect.provide(Logger.replace(Logger.defaultLogger, listener)))
      expect(yield* actionsOf(call)).toEqual(["a", "b"])
      expect(said).toHaveLength(1)
      expect(said[0]).toContain(`tool.timeout of ${call}`)
      expect(said[0]).toContain("data.timeout_seconds")
    })
  )

  it.effect("text that PostgreSQL cannot hold does not fail the change", () =>
    Effect.gen(function* () {
      const call = yield* newCallId
      yield* Effect.flatMap(Outbox, (outbox) => outbox.append(pressed(call, "a\u0000b \ud83d c 😀 \\u0000")))
      expect(yield* actionsOf(call)).toEqual(["ab \ufffd c 😀 \\u0000"])
    })
  )

  it.scoped(
    "events become deliveries to each webhook that wants them, in their order, and listeners hear how many",
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
        const heard = yield* hearing
        const call = yield* newCallId
        const ids = yield* outbox.appendAll(["1", "2", "3"].map((key) => acme.pressed(call, key)))
        expect(heard).toEqual([
          [
            [all, 3],
            [keys, 3]
          ]
        ])
        const deliveries = yield* deliveriesOf(call)
        for (const webhook of [all, keys]) {
          const its = deliveries.filter(({ webhook_id }) => webhook_id === webhook)
          expect(its.map(({ event_id }) => event_id)).toEqual(ids)
        }
        expect(deliveries).toHaveLength(6)
      })
  )

  it.scoped("listeners are told whether what they hear of is committed", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const acme = yield* organization
      yield* acme.webhook(["*"])
      const heard: Array<boolean> = []
      yield* outbox.onAppend((_, isCommitted) => void heard.push(isCommitted))
      const call = yield* newCallId
      yield* outbox.append(acme.pressed(call, "alone"))
      yield* sql.withTransaction(outbox.append(acme.pressed(call, "in a transaction")))
      expect(heard).toEqual([true, false])
    })
  )

  it.scoped("of events that no webhook gets listeners hear nothing", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const acme = yield* organization
      const call = yield* newCallId
      const heard = yield* hearing
      yield* outbox.append(acme.pressed(call, "1"))
      yield* acme.webhook(["*"], false)
      yield* acme.webhook(["call.ended"])
      yield* outbox.append(acme.pressed(call, "2"))
      yield* outbox.append(acme.pressed(call, "3"))
      yield* outbox.appendAll([])
      expect(heard).toEqual([])
      expect(yield* deliveriesOf(call)).toEqual([])
      expect(yield* actionsOf(call)).toEqual(["1", "2", "3"])
    })
  )

  it.scoped("a change that is undone leaves neither its event nor a delivery, though listeners have heard of it", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const acme = yield* organization
      const webhook = yield* acme.webhook(["*"])
      const call = yield* newCallId
      const heard = yield* hearing
      const change = outbox
        .append(acme.pressed(call, "1"))
        .pipe(Effect.zipRight(Effect.fail("no")), sql.withTransaction)
      expect(Exit.isFailure(yield* Effect.exit(change))).toBe(true)
      expect(heard).toEqual([[[webhook, 1]]])
      expect(yield* actionsOf(call)).toEqual([])
      expect(yield* deliveriesOf(call)).toEqual([])
    })
  )

  it.scoped("an event that does not fit its schema is no delivery, and the rest of its batch is", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const acme = yield* organization
      const webhook = yield* acme.webhook(["*"])
      const call = yield* newCallId
      const heard = yield* hearing
      const spoilt: EventDraft = {
        ...acme.pressed(call, "spoilt"),
        event: "tool.timeout",
        data: { call_id: call, agent_id: null, tool_name: "t", tool_call_id: "1", timeout_seconds: Number.NaN }
      }
      const [first, , last] = yield* outbox
        .appendAll([acme.pressed(call, "a"), spoilt, acme.pressed(call, "b")])
        .pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
      expect(heard).toEqual([[[webhook, 2]]])
      expect((yield* deliveriesOf(call)).map(({ event_id }) => event_id)).toEqual([first, last])
    })
  )

  it.scoped("of 50 that append at once, listeners hear of each delivery once", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const acme = yield* organization
      const webhooks = [yield* acme.webhook(["*"]), yield* acme.webhook(["*"])]
      const call = yield* newCallId
      const heard = yield* hearing
      const two = [acme.pressed(call, "1"), acme.pressed(call, "2")]
      yield* Effect.all(Effect.replicate(outbox.appendAll(two), 50), { concurrency: "unbounded" })
      expect(heard).toEqual(Array.from({ length: 50 }, () => webhooks.map((id) => [id, 2])))
      expect(yield* deliveriesOf(call)).toHaveLength(200)
    })
  )

  it.scoped("who has stopped listening hears nothing more, and the others do", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const acme = yield* organization
      yield* acme.webhook(["*"])
      const call = yield* newCallId
      const stayed = yield* hearing
      const left = yield* Effect.scoped(Effect.zipLeft(hearing, outbox.append(acme.pressed(call, "1"))))
      yield* outbox.append(acme.pressed(call, "2"))
      expect([left.length, stayed.length]).toEqual([1, 2])
    })
  )
})
