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
})
