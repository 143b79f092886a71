import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { type CallId, newCallId } from "@svc/api/Ids"
import { DateTime, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { Outbox } from "../src/Outbox.ts"
import { TestDatabase } from "../src/TestDatabase.ts"

const digit = (call_id: CallId, digit: string): EventDraft => ({
  event: "call.dtmf.received",
  org_id: 7,
  project_id: null,
  agent_id: null,
  call_id,
  timestamp: "2026-02-03T04:05:06.789Z",
  data: { call_id, agent_id: null, digit, action: "unmapped" }
})

const digitsOf = (call: CallId) =>
  Effect.gen(function* () {
    const events = yield* Effect.flatMap(Outbox, (outbox) => outbox.after(0, 1_000))
    return events.filter((event) => event.call_id === call).map((event) => event.data["digit"])
  })

layer(Outbox.layer.pipe(Layer.provideMerge(TestDatabase.layer)))("Outbox", (it) => {
  it.effect("an event is read back as it was appended, with its own time and a fresh id", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      const id = yield* outbox.append(digit(call, "5"))
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
      const change = outbox.append(digit(call, "1")).pipe(Effect.zipRight(Effect.fail("no")), sql.withTransaction)
      expect(Exit.isFailure(yield* Effect.exit(change))).toBe(true)
      expect(yield* digitsOf(call)).toEqual([])
      yield* sql.withTransaction(outbox.append(digit(call, "2")))
      expect(yield* digitsOf(call)).toEqual(["2"])
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
        .append(digit(call, "1"))
        .pipe(
          Effect.zipRight(Deferred.succeed(appended, undefined)),
          Effect.zipRight(Deferred.await(looked)),
          sql.withTransaction,
          Effect.fork
        )
      yield* Deferred.await(appended)
      expect(yield* digitsOf(call)).toEqual([])
      yield* Deferred.succeed(looked, undefined)
      yield* Fiber.join(change)
      expect(yield* digitsOf(call)).toEqual(["1"])
    })
  )

  it.effect("many events go in one statement and keep their order; none is none", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      const digits = Array.from({ length: 250 }, (_, index) => String(index))
      const ids = yield* outbox.appendAll(digits.map((key) => digit(call, key)))
      expect(new Set(ids).size).toBe(250)
      expect(yield* digitsOf(call)).toEqual(digits)
      expect(yield* outbox.appendAll([])).toEqual([])
    })
  )

  it.effect("reading goes on after the last event seen, a page at a time", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const call = yield* newCallId
      yield* outbox.appendAll(["a", "b", "c"].map((key) => digit(call, key)))
      const all = yield* outbox.after(0, 1_000)
      const before = all.at(-4)?.seq ?? 0
      const page = yield* outbox.after(before, 2)
      expect(page.map((event) => event.data["digit"])).toEqual(["a", "b"])
      const rest = yield* outbox.after(page.at(-1)?.seq ?? 0, 2)
      expect(rest.map((event) => event.data["digit"])).toEqual(["c"])
    })
  )

  it.effect("text that PostgreSQL cannot hold does not fail the change", () =>
    Effect.gen(function* () {
      const call = yield* newCallId
      yield* Effect.flatMap(Outbox, (outbox) => outbox.append(digit(call, "a\u0000b \ud83d c 😀 \\u0000")))
      expect(yield* digitsOf(call)).toEqual(["ab \ufffd c 😀 \\u0000"])
    })
  )
})
