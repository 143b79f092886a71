import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { type CallId, newCallId } from "@svc/api/Ids"
import { DateTime, Deferred, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { EventFanOut } from "../src/EventFanOut.ts"
import { Outbox } from "../src/Outbox.ts"
import { TestDatabase } from "../src/TestDatabase.ts"

/** An event of a call; `action` tells its events apart. */
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

layer(Outbox.layerWithoutDeliveries.pipe(Layer.provideMerge(TestDatabase.layer)))("Outbox", (it) => {
  it.effect("after returns an appended event with its own created_at and a new id", () =>
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

  it.effect("append writes the event only if the transaction commits", () =>
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

  it.effect("events of an open transaction are not visible to others", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const call = yield* newCallId
      const appended = yield* Deferred.make<void>()
      const read = yield* Deferred.make<void>()
      const change = yield* outbox
        .append(pressed(call, "1"))
        .pipe(
          Effect.zipRight(Deferred.succeed(appended, undefined)),
          Effect.zipRight(Deferred.await(read)),
          sql.withTransaction,
          Effect.fork
        )
      yield* Deferred.await(appended)
      expect(yield* actionsOf(call)).toEqual([])
      yield* Deferred.succeed(read, undefined)
      yield* Fiber.join(change)
      expect(yield* actionsOf(call)).toEqual(["1"])
    })
  )

  it.effect("appendAll keeps the order of events, and writes nothing for an empty list", () =>
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

  it.effect("after returns at most limit events that follow seq", () =>
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

  it.effect(
    "an event that does not match its schema is logged and skipped; the other events and the change are committed",
    () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        const call = yield* newCallId
        const logged: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void logged.push(String(message)))
        const invalid: EventDraft = {
          ...pressed(call, "invalid"),
          event: "tool.timeout",
          data: { call_id: call, agent_id: null, tool_name: "t", tool_call_id: "1", timeout_seconds: Number.NaN }
        }
        yield* sql
          .withTransaction(outbox.appendAll([pressed(call, "a"), invalid, pressed(call, "b")]))
          .pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
        expect(yield* actionsOf(call)).toEqual(["a", "b"])
        expect(logged).toHaveLength(1)
        expect(logged[0]).toContain(`tool.timeout of ${call}`)
        expect(logged[0]).toContain("data.timeout_seconds")
      })
  )

  it.effect("text that jsonb does not accept is cleaned", () =>
    Effect.gen(function* () {
      const call = yield* newCallId
      yield* Effect.flatMap(Outbox, (outbox) => outbox.append(pressed(call, "a\u0000b \ud83d c 😀 \\u0000")))
      expect(yield* actionsOf(call)).toEqual(["ab \ufffd c 😀 \\u0000"])
    })
  )

  it.effect("removeBefore removes the oldest events that were created before the given time, at most limit", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      const old = ["1970-01-03", "1970-01-01", "1970-01-02"].map((day) => ({
        ...pressed(call, day),
        timestamp: `${day}T00:00:00.000Z`
      }))
      yield* outbox.appendAll([...old, pressed(call, "recent")])
      expect(yield* outbox.removeBefore(new Date("1971-01-01"), 2)).toBe(2)
      expect(yield* actionsOf(call)).toEqual(["1970-01-03", "recent"])
      expect(yield* outbox.removeBefore(new Date("1971-01-01"), 2)).toBe(1)
      expect(yield* outbox.removeBefore(new Date("1971-01-01"), 2)).toBe(0)
      expect(yield* actionsOf(call)).toEqual(["recent"])
    })
  )
})

/** Copies the events of each insert to a table, and retains those whose action is `kept`. */
const FanOutToTable = Layer.effect(
  EventFanOut,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    execute: (insert) =>
      Effect.asVoid(sql`
        with written as (${insert})
        insert into fanned_out (event_id, call_id) select id, call_id from written order by seq`),
    retained: (before) => sql`select seq from events where created_at < ${before} and data ->> 'action' = 'kept'`
  }))
)

layer(Outbox.layer.pipe(Layer.provide(FanOutToTable), Layer.provideMerge(TestDatabase.layer)))(
  "Outbox with a fan-out",
  (it) => {
    const fannedOut = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        create table if not exists fanned_out (
          place bigint generated always as identity, event_id text not null, call_id text
        )`
      return (call: CallId) =>
        Effect.map(
          sql<{ readonly event_id: string }>`select event_id from fanned_out where call_id = ${call} order by place`,
          (rows) => rows.map(({ event_id }) => event_id)
        )
    })

    it.effect("append and appendAll fan out exactly the events that they write, in their order", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const copies = yield* fannedOut
        const call = yield* newCallId
        const first = yield* outbox.append(pressed(call, "1"))
        const others = yield* outbox.appendAll([pressed(call, "2"), pressed(call, "3")])
        expect(yield* copies(call)).toEqual([first, ...others])
        expect(yield* actionsOf(call)).toEqual(["1", "2", "3"])
      })
    )

    it.effect("a transaction that is rolled back leaves neither events nor what was fanned out", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        const copies = yield* fannedOut
        const call = yield* newCallId
        const change = outbox.append(pressed(call, "1")).pipe(Effect.zipRight(Effect.fail("no")), sql.withTransaction)
        expect(Exit.isFailure(yield* Effect.exit(change))).toBe(true)
        expect(yield* actionsOf(call)).toEqual([])
        expect(yield* copies(call)).toEqual([])
      })
    )

    it.effect("removeBefore keeps the events that the fan-out retains", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* fannedOut
        const call = yield* newCallId
        const old = ["kept", "removed"].map((action) => ({
          ...pressed(call, action),
          timestamp: "1970-01-01T00:00:00.000Z"
        }))
        yield* outbox.appendAll(old)
        expect(yield* outbox.removeBefore(new Date("1971-01-01"), 10)).toBe(1)
        expect(yield* actionsOf(call)).toEqual(["kept"])
      })
    )
  }
)
