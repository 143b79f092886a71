import { SqlClient, SqlError } from "@effect/sql"
import { expect, it, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { CallId } from "@svc/api/Ids"
import type { Input } from "@svc/conversation/Input"
import { facts } from "@svc/conversation/testing/Script"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Deferred, Effect, Exit, FiberId, Layer, Logger, LogLevel, Schema, Scope } from "effect"
import * as fc from "fast-check"
import { CallsRepo } from "../../src/record/CallsRepo.ts"
import { JournalRepo } from "../../src/record/JournalRepo.ts"
import { LiveCallWriter } from "../../src/record/LiveCallWriter.ts"
import { ServerRequestsRepo } from "../../src/record/ServerRequestsRepo.ts"
import { wellFormed } from "../../src/session/WellFormed.ts"
import { fastClock } from "../../src/testing/FastClock.ts"
import { until } from "../doubles/Engine.ts"

const Repositories = Layer.mergeAll(CallsRepo.layer, JournalRepo.layer, ServerRequestsRepo.layer)
const Writer = LiveCallWriter.layer.pipe(Layer.provide(Repositories))
const OnDatabase = Writer.pipe(Layer.provideMerge(Outbox.layerWithoutDeliveries))

const newCall = (publicId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ readonly id: number }>`
        insert into calls (public_id, org_id, project_id, telephony, status, started_at)
        values (${publicId}, 1, 1, 'simulated', 'ringing', now()) returning id`,
      (rows) => rows[0]?.id ?? 0
    )
  )

const input = (n: number): Input => ({ _tag: "Dtmf", at: n, digit: String(n) })
const event = (action: string): EventDraft => ({
  event: "call.dtmf.received",
  org_id: 1,
  project_id: 1,
  agent_id: facts.agent_id,
  call_id: facts.call_id,
  timestamp: "2026-01-01T00:00:00.000Z",
  data: { call_id: facts.call_id, agent_id: facts.agent_id, digit: "5", action }
})

const seqs = (id: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ readonly seq: number }>`select seq from call_journal where call_id = ${id} order by seq`, (rows) =>
      rows.map((r) => r.seq)
    )
  )

const actions = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly action: string }>`select data->>'action' as action from events order by seq`, (rows) =>
    rows.map((r) => r.action)
  )
)

/** Makes writes to the journal fail, and work again. */
const breakJournal = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table call_journal rename to call_journal_away`
)
const repairJournal = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table call_journal_away rename to call_journal`
)

/** A journal on a database of its own. */
const test = (
  name: string,
  body: () => Effect.Effect<void, unknown, SqlClient.SqlClient | Outbox | LiveCallWriter | Scope.Scope>
) =>
  it.scopedLive(name, () =>
    body().pipe(
      Effect.provide(Layer.provideMerge(OnDatabase, TestDatabase.layer)),
      Logger.withMinimumLogLevel(LogLevel.None)
    )
  )

test("inputs and events of many calls are stored in order", () =>
  Effect.gen(function* () {
    const { events, journal } = yield* LiveCallWriter
    const ids = [yield* newCall("call_a"), yield* newCall("call_b")]
    for (let n = 0; n < 500; n++) {
      for (const id of ids) journal.append({ call_id: id, seq: n, input: input(n), commands: `c${n}` }, n % 50 === 0)
      events.emit(event(String(n)))
      if (n % 100 === 0) yield* Effect.sleep("5 millis")
    }
    yield* journal.flush
    const wanted = Array.from({ length: 500 }, (_, n) => n)
    for (const id of ids) expect(yield* seqs(id)).toEqual(wanted)
    expect(yield* actions).toEqual(wanted.map(String))
  }))

test("large inputs and events are stored in order, in a transaction for each 128 K characters", () =>
  Effect.gen(function* () {
    const { events, journal } = yield* LiveCallWriter
    const sql = yield* SqlClient.SqlClient
    const id = yield* newCall("call_large")
    const result = "x".repeat(50 * 1024)
    for (let seq = 0; seq < 6; seq++) {
      journal.append(
        { call_id: id, seq, input: { _tag: "ToolAnswered", at: seq, id: "t", result }, commands: "" },
        true
      )
      events.emit(event(String(seq)))
    }
    yield* journal.flush
    expect(yield* seqs(id)).toEqual([0, 1, 2, 3, 4, 5])
    expect(yield* actions).toEqual(["0", "1", "2", "3", "4", "5"])
    const [count] = yield* sql<{ readonly transactions: number }>`
      select count(distinct xmin::text)::int as transactions from call_journal where call_id = ${id}`
    expect(count?.transactions).toBe(3)
  }))

test("a stored input is byte for byte the input that was appended", () =>
  Effect.gen(function* () {
    const { journal } = yield* LiveCallWriter
    const sql = yield* SqlClient.SqlClient
    const id = yield* newCall("call_order")
    const values = fc.sample(fc.jsonValue({ maxDepth: 4 }), { numRuns: 200, seed: 7 })
    const results = [{ zebra: 1, a: { é: 1, zz: 2, b: 3, "10": 4, "9": 5 }, "\u{1F600}": 1, "\uFFFD": 2 }, ...values]
    const inputs = results.map((result, at): Input => wellFormed({ _tag: "ToolAnswered", at, id: "t", result }))
    for (const [seq, one] of inputs.entries()) journal.append({ call_id: id, seq, input: one, commands: "" }, false)
    yield* journal.flush
    const rows = yield* sql<{ readonly result: string }>`
      select input->'result' as result from call_journal where call_id = ${id} order by seq`
    expect(rows.map(({ result }) => JSON.stringify(result))).toEqual(
      inputs.map((one) => (one._tag === "ToolAnswered" ? JSON.stringify(one.result) : ""))
    )
  }))

test("an urgent row is stored at once and others soon, without flush", () =>
  Effect.gen(function* () {
    const { journal } = yield* LiveCallWriter
    const id = yield* newCall("call_a")
    journal.append({ call_id: id, seq: 0, input: facts, commands: "" }, false)
    yield* until(seqs(id), (found) => found.length === 1)
    journal.append({ call_id: id, seq: 1, input: input(1), commands: "" }, true)
    yield* until(seqs(id), (found) => found.length === 2)
  }))

test("an answered call is marked as in-progress, unless it has ended", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { answered, journal } = yield* LiveCallWriter
    const [ringing, over] = [yield* newCall("call_a"), yield* newCall("call_b")]
    yield* sql`update calls set status = 'failed', ended_at = now() where id = ${over}`
    const answered_at = new Date("2026-01-01T00:00:01.500Z")
    for (const call_id of [ringing, over]) {
      answered.mark({ call_id, answered_at, metadata: { a: "x\0y" }, recording_enabled: true })
    }
    yield* journal.flush
    const rows = yield* sql`select status, answered_at, metadata, recording_enabled from calls order by id`
    expect(rows).toEqual([
      { status: "in-progress", answered_at, metadata: { a: "xy" }, recording_enabled: true },
      { status: "failed", answered_at: null, metadata: {}, recording_enabled: false }
    ])
  }))

test("a row that the database refuses is left out and does not stop others", () =>
  Effect.gen(function* () {
    const { events, journal } = yield* LiveCallWriter
    const id = yield* newCall("call_a")
    journal.append({ call_id: id, seq: 0, input: facts, commands: "" }, false)
    // No such call.
    journal.append({ call_id: 999_999, seq: 0, input: facts, commands: "" }, false)
    journal.append({ call_id: id, seq: 1, input: input(1), commands: "" }, false)
    events.emit(event("1"))
    events.emit({ ...event("2"), timestamp: "no time" })
    events.emit(event("3"))
    yield* journal.flush
    expect(yield* seqs(id)).toEqual([0, 1])
    expect(yield* actions).toEqual(["1", "3"])
  }))

test("a row that cannot be serialized is left out and does not stop others", () =>
  Effect.gen(function* () {
    const { journal } = yield* LiveCallWriter
    const id = yield* newCall("call_a")
    const endless: Record<string, unknown> = {}
    endless["self"] = endless
    journal.append({ call_id: id, seq: 0, input: facts, commands: "" }, false)
    journal.append(
      { call_id: id, seq: 1, input: { _tag: "ToolAnswered", at: 1, id: "t", result: endless }, commands: "" },
      false
    )
    journal.append({ call_id: id, seq: 2, input: input(2), commands: "" }, false)
    yield* journal.flush
    expect(yield* seqs(id)).toEqual([0, 2])
  }))

test("a row that is stored already is not overwritten", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { journal } = yield* LiveCallWriter
    const id = yield* newCall("call_a")
    journal.append({ call_id: id, seq: 0, input: facts, commands: "first" }, false)
    yield* journal.flush
    journal.append({ call_id: id, seq: 0, input: facts, commands: "second" }, false)
    yield* journal.flush
    expect(yield* sql`select commands from call_journal`).toEqual([{ commands: "first" }])
  }))

test("during a database outage everything is kept, and stored in order afterwards", () =>
  Effect.gen(function* () {
    const { events, journal } = yield* LiveCallWriter
    const id = yield* newCall("call_a")
    yield* breakJournal
    for (let n = 0; n < 50; n++) {
      journal.append({ call_id: id, seq: n, input: input(n), commands: "" }, true)
      events.emit(event(String(n)))
      yield* Effect.sleep("4 millis")
    }
    expect(yield* actions).toEqual([])
    yield* repairJournal
    yield* journal.flush
    const wanted = Array.from({ length: 50 }, (_, n) => n)
    expect(yield* seqs(id)).toEqual(wanted)
    expect(yield* actions).toEqual(wanted.map(String))
  }))

test("broken connections are replaced and nothing is lost", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { journal } = yield* LiveCallWriter
    const id = yield* newCall("call_a")
    for (let n = 0; n < 20; n++) {
      journal.append({ call_id: id, seq: n, input: input(n), commands: "" }, true)
      yield* Effect.ignore(
        sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
      )
      yield* Effect.sleep("5 millis")
    }
    yield* journal.flush
    expect(yield* Effect.retry(seqs(id), { times: 10 })).toEqual(Array.from({ length: 20 }, (_, n) => n))
  }))

it.scopedLive("nothing is stored for a call that another node settled during a database outage", () => {
  const complained = Deferred.unsafeMake<void>(FiberId.none)
  const logger = Logger.make(() => Deferred.unsafeDone(complained, Effect.void))
  return Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { events, journal } = yield* LiveCallWriter
    const lost = yield* newCall(facts.call_id)
    const ours = yield* newCall("call_b")
    yield* breakJournal
    for (const call_id of [lost, ours]) journal.append({ call_id, seq: 0, input: input(1), commands: "" }, true)
    events.emit(event("1"))
    events.emit({ ...event("2"), call_id: yield* Schema.decode(CallId)("call_000000000000000000000002") })
    yield* Deferred.await(complained)
    yield* sql`update calls set status = 'failed', ended_at = now() where id = ${lost}`
    yield* repairJournal
    yield* journal.flush
    expect(yield* seqs(lost)).toEqual([])
    expect(yield* seqs(ours)).toEqual([0])
    expect(yield* actions).toEqual(["2"])
  }).pipe(
    Effect.provide(Layer.provideMerge(OnDatabase, TestDatabase.layer)),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger))
  )
})

it.scopedLive("a batch whose commit succeeded but whose answer was lost is not stored twice", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const outbox = yield* Outbox
    const call = yield* newCall(facts.call_id)
    let lost = false
    // The transaction commits, but the connection breaks before the answer arrives.
    const flaky = {
      ...outbox,
      appendAll: (events: ReadonlyArray<EventDraft>) =>
        Effect.gen(function* () {
          const ids = yield* outbox.appendAll(events)
          if (lost || events.length === 0) return ids
          lost = true
          yield* sql`commit`
          return yield* Effect.die(new SqlError.SqlError({ cause: new Error("Connection terminated") }))
        }).pipe(Effect.orDie)
    }
    yield* Effect.gen(function* () {
      const { events, journal } = yield* LiveCallWriter
      journal.append({ call_id: call, seq: 0, input: input(1), commands: "" }, true)
      events.emit(event("1"))
      yield* journal.flush
    }).pipe(Effect.provide(Writer), Effect.provideService(Outbox, flaky))
    expect(lost).toBe(true)
    expect(yield* actions).toEqual(["1"])
  }).pipe(
    Effect.provide(Layer.provideMerge(Outbox.layerWithoutDeliveries, TestDatabase.layer)),
    Logger.withMinimumLogLevel(LogLevel.None)
  )
)

layer(TestDatabase.layer, { excludeTestServices: true })("at shutdown", (it) => {
  const fresh = (times: number) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const built = Layer.build(Layer.fresh(OnDatabase.pipe(Layer.provide(Layer.setClock(fastClock(times))))))
      return { scope, journal: Context.get(yield* Scope.extend(built, scope), LiveCallWriter).journal }
    })

  it.scoped("the last batch is stored", () =>
    Effect.gen(function* () {
      const { journal, scope } = yield* fresh(1)
      const id = yield* newCall("call_a")
      journal.append({ call_id: id, seq: 0, input: facts, commands: "" }, false)
      yield* Scope.close(scope, Exit.void)
      expect(yield* seqs(id)).toEqual([0])
    })
  )

  it.scoped("the flush does not wait forever for an unavailable database", () =>
    Effect.gen(function* () {
      const { journal, scope } = yield* fresh(20)
      const id = yield* newCall("call_b")
      yield* breakJournal
      journal.append({ call_id: id, seq: 0, input: facts, commands: "" }, true)
      yield* Effect.sleep("50 millis")
      journal.append({ call_id: id, seq: 1, input: input(1), commands: "" }, true)
      yield* Scope.close(scope, Exit.void)
      yield* repairJournal
      expect(yield* seqs(id)).toEqual([])
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )
})
