import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { KnowledgeBaseCreate } from "@svc/api/knowledge/KnowledgeBase"
import { Projects } from "@svc/auth/Projects"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import type { Database } from "@svc/database/Database"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Deferred, Effect, Exit, Layer, Logger, Schema, Scope, TestClock } from "effect"
import { Knowledge } from "../../src/Knowledge.ts"
import { passagesOfText } from "../../src/NewPassages.ts"
import { RefreshWorker } from "../../src/refresh/RefreshWorker.ts"
import { type ReadSource, SourceReader, Unreadable } from "../../src/refresh/SourceReader.ts"
import { owner, passagesOf, services } from "../Fixture.ts"

type Read = Effect.Effect<ReadSource, Unreadable>

const source_url = "https://example.com/sitemap.xml"

/** The pages of a source: each a text of its URL. */
const says = (pages: { readonly [url: string]: string }, rest: Partial<ReadSource> = {}): Read =>
  Effect.map(
    Effect.forEach(Object.entries(pages), ([url, text]) =>
      Effect.map(passagesOfText(text), ({ passages }) => passages.map((passage) => ({ ...passage, source_url: url })))
    ),
    (found) => ({ passages: found.flat(), truncated: 0, keep: [], problems: [], ...rest })
  )

const fails = (reason: string): Read =>
  Effect.fail(new Unreadable({ reason, isGone: false, isHarmful: false, hostFault: null }))

/** A node whose sources say what `read` gives, one answer after the other, and the last again and again. */
const node = (answers: ReadonlyArray<Read>, counter = { count: 0 }) => {
  const reader = Layer.succeed(SourceReader, {
    read: () => Effect.suspend(() => answers[Math.min(counter.count++, answers.length - 1)] ?? Effect.die("no answer"))
  })
  return Layer.build(
    Layer.fresh(
      RefreshWorker.pipe(
        Layer.provide(reader),
        Layer.provideMerge(services),
        Layer.provideMerge(DueCheck.layer),
        Layer.provideMerge(Layer.merge(Outbox.layerWithoutDeliveries, NodeLease.layer))
      )
    )
  )
}

/** Half of the time after which the workers look again, and a wait for their statements. */
const turn = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* TestClock.adjust("500 millis")
  for (let round = 0; round < 5; round++) {
    yield* Effect.ignore(sql`select pg_sleep(0.002)`)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
}).pipe(Effect.orDie)

const until = <A, E, R>(look: Effect.Effect<A, E, R>, isGood: (seen: A) => boolean) =>
  Effect.repeat(Effect.zipRight(turn, look), { until: (seen) => isGood(seen) })
/** Some more looks, in which nothing should happen. */
const settle = Effect.repeatN(turn, 9)

const eventsOf = (kb: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly event: string; readonly data: object }>`
      select event, data, project_id, agent_id from events where data ->> 'kb_id' = ${kb} order by seq`
  ).pipe(Effect.orDie)

/** A base with a source on a node with these answers. */
const started = (answers: ReadonlyArray<Read>, body: object = {}, counter = { count: 0 }) =>
  Effect.gen(function* () {
    const context = yield* node(answers, counter)
    const by = yield* Effect.provide(owner, context)
    const knowledge = Context.get(context, Knowledge)
    const decoded = yield* Schema.decodeUnknown(KnowledgeBaseCreate)({ name: "Site", source_url, ...body })
    const base = yield* knowledge.create(by, decoded)
    const id = base.public_id
    const get = knowledge.get(by.project, id)
    /** Refreshes and waits for the end. */
    const refreshed = Effect.zipRight(
      knowledge.refresh(by.project, id),
      until(get, ({ status }) => status !== "refreshing")
    )
    const first = until(get, ({ status }) => status !== "refreshing")
    const texts = Effect.map(passagesOf(base.id), (found) => found.map(({ text }) => text))
    return { base, by, context, events: eventsOf(id), first, get, id, knowledge, refreshed, texts }
  })

const test = (name: string, run: () => Effect.Effect<void, unknown, Database | SqlClient.SqlClient | Scope.Scope>) =>
  it.scoped(name, () =>
    run().pipe(Effect.provide(Logger.remove(Logger.defaultLogger)), Effect.provide(TestDatabase.layer))
  )

const a = "https://example.com/a"
const b = "https://example.com/b"

/** Makes the next automatic refresh due. */
const due = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update knowledge_bases set next_at = now() where public_id = ${id} and next_at is not null`
  )

describe.concurrent("The refresh of a knowledge base", () => {
  test("begins at once when it is asked for, and the next one when that has ended", () =>
    Effect.gen(function* () {
      const context = yield* node([says({ [a]: "One." })])
      const by = yield* Effect.provide(owner, context)
      const knowledge = Context.get(context, Knowledge)
      const body = yield* Schema.decodeUnknown(KnowledgeBaseCreate)({ name: "Site", source_url })
      // Two of an organization are refreshed at once: the third waits for one of them. The clock stands.
      const bases = yield* Effect.replicateEffect(knowledge.create(by, body), 3)
      for (const { public_id } of bases) {
        const { entry_count } = yield* Effect.repeat(knowledge.get(by.project, public_id), {
          until: ({ status }) => status === "ready"
        })
        expect(entry_count).toBe(1)
      }
    }))

  test("begins with its creation, and counts what was added and removed", () =>
    Effect.gen(function* () {
      const { base, by, events, first, refreshed, texts } = yield* started([
        says({ [a]: "One.", [b]: "Two." }),
        says({ [b]: "Two.", "https://example.com/c": "Three." }, { truncated: 7 })
      ])
      expect(base).toMatchObject({ source_type: "url", source_url, status: "refreshing", entry_count: 0 })
      expect(yield* first).toMatchObject({
        status: "ready",
        entry_count: 2,
        last_refreshed_at: expect.any(String),
        last_error: null,
        consecutive_failures: 0
      })
      expect(yield* texts).toEqual(["One.", "Two."])
      expect(yield* refreshed).toMatchObject({ entry_count: 2, entries_truncated: 7 })
      expect(yield* texts).toEqual(["Two.", "Three."])
      yield* settle
      const event = { event: "knowledge_base.refreshed", project_id: by.project.id, agent_id: null }
      const kb_id = base.public_id
      expect(yield* events).toEqual([
        { ...event, data: { kb_id, entries_added: 2, entries_removed: 0, entries_truncated: 0 } },
        { ...event, data: { kb_id, entries_added: 1, entries_removed: 1, entries_truncated: 7 } }
      ])
    }))

  test("keeps the passages of pages that could not be read, and names them", () =>
    Effect.gen(function* () {
      const { first, refreshed, texts } = yield* started([
        says({ [a]: "One.", [b]: "Two." }),
        says({ [a]: "New one." }, { keep: [b], problems: [`${b} answered with status 500`, "x", "y", "z"] })
      ])
      yield* first
      expect(yield* refreshed).toMatchObject({
        status: "ready",
        entry_count: 2,
        last_error: `${b} answered with status 500; x; y; and 1 more pages were not read`
      })
      expect((yield* texts).toSorted()).toEqual(["New one.", "Two."])
    }))

  test("that fails keeps the content, counts the failure and says why", () =>
    Effect.gen(function* () {
      const { events, first, id, refreshed, texts } = yield* started([
        says({ [a]: "One." }),
        fails(`down ${"x".repeat(2000)}`),
        says({ [a]: "One." })
      ])
      yield* first
      const failed = yield* refreshed
      expect(failed).toMatchObject({ status: "failed", entry_count: 1, consecutive_failures: 1 })
      expect(failed.last_error).toMatch(/^down x+…$/)
      expect(failed.last_error).toHaveLength(1000)
      expect(yield* texts).toEqual(["One."])
      expect((yield* events).at(-1)).toMatchObject({
        event: "knowledge_base.refresh_failed",
        data: { kb_id: id, error: failed.last_error }
      })
      expect(yield* refreshed).toMatchObject({ status: "ready", consecutive_failures: 0, last_error: null })
    }))

  test("runs by itself until five failures in a row, and again after a success", () =>
    Effect.gen(function* () {
      const counter = { count: 0 }
      const bad = fails("The site is down")
      const { events, first, get, id, refreshed } = yield* started(
        [bad, bad, bad, bad, bad, bad, says({ [a]: "One." }), says({ [a]: "Two." })],
        { auto_refresh_hours: 2 },
        counter
      )
      yield* first
      for (let failures = 2; failures <= 5; failures++) {
        // The third was asked for, and counts too.
        if (failures === 3) yield* refreshed
        else yield* due(id)
        yield* until(get, ({ consecutive_failures }) => consecutive_failures === failures)
      }
      yield* due(id)
      yield* settle
      expect(counter.count).toBe(5)
      const names = Effect.map(events, (all) => all.map(({ event }) => event.replace("knowledge_base.", "")))
      const failed = Array.from({ length: 5 }, () => "refresh_failed")
      expect(yield* names).toEqual([...failed, "auto_refresh_disabled"])
      expect((yield* events).at(-1)?.data).toEqual({ kb_id: id, reason: "consecutive_failures", count: 5 })
      expect(yield* refreshed).toMatchObject({ status: "failed", consecutive_failures: 6, auto_refresh_hours: 2 })
      expect(yield* refreshed).toMatchObject({ status: "ready" })
      yield* due(id)
      yield* until(get, ({ updated_at }) => updated_at !== undefined && counter.count === 8)
      yield* until(names, (all) => all.length === 9)
      expect(yield* names).toEqual([...failed, "auto_refresh_disabled", "refresh_failed", "refreshed", "refreshed"])
    }))

  test("is due by hours after the last, and not without them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { by, first, id, knowledge } = yield* started([says({ [a]: "One." })], { auto_refresh_hours: 3 })
      yield* first
      const hours = Effect.map(
        sql<{ readonly hours: number | null }>`
          select round(extract(epoch from next_at - now()) / 3600)::integer as hours
          from knowledge_bases where public_id = ${id}`,
        (rows) => rows[0]?.hours
      )
      expect(yield* hours).toBe(3)
      yield* knowledge.update(by.project, id, { auto_refresh_hours: 48 })
      expect(yield* hours).toBe(48)
      yield* knowledge.update(by.project, id, { auto_refresh_hours: null })
      expect(yield* hours).toBeNull()
    }))

  test("is one when it is asked for several times, on several nodes", () =>
    Effect.gen(function* () {
      const counter = { count: 0 }
      const gate = yield* Deferred.make<void>()
      const slow = Effect.zipRight(Deferred.await(gate), says({ [a]: "One." }))
      const { by, events, first, get, id, knowledge } = yield* started([slow], {}, counter)
      yield* node([slow], counter)
      yield* Effect.all(
        Array.from({ length: 5 }, () => knowledge.refresh(by.project, id)),
        { concurrency: "unbounded" }
      )
      yield* until(
        Effect.sync(() => counter.count),
        (count) => count > 0
      )
      yield* knowledge.refresh(by.project, id)
      yield* settle
      expect(yield* get).toMatchObject({ status: "refreshing" })
      yield* Deferred.succeed(gate, undefined)
      yield* first
      yield* settle
      expect([counter.count, (yield* events).length]).toEqual([1, 1])
    }))

  test("is taken over when its node dies, and fails when that keeps happening", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const counter = { count: 0 }
      const scope = yield* Scope.make()
      const context = yield* Effect.provideService(started([Effect.never], {}, counter), Scope.Scope, scope)
      yield* until(
        Effect.sync(() => counter.count),
        (count) => count === 1
      )
      yield* Scope.close(scope, Exit.void)
      expect(yield* context.get).toMatchObject({ status: "refreshing" })
      yield* sql`update nodes set expires_at = now() - interval '1 minute'`
      const next = { count: 0 }
      yield* node([says({ [a]: "One." })], next)
      yield* until(Effect.zipRight(TestClock.adjust("500 millis"), context.get), ({ status }) => status === "ready")
      expect([next.count, (yield* context.events).length]).toEqual([1, 1])

      yield* sql`update knowledge_bases set status = 'refreshing', attempts = 3, next_at = now() where public_id = ${context.id}`
      yield* until(context.get, ({ status }) => status === "failed")
      expect((yield* context.get).last_error).toContain("The server stopped 3 times while it read")
      expect(next.count).toBe(1)
    }))

  test("that another source or text has replaced changes nothing", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const counter = { count: 0 }
      const { by, events, get, id, knowledge, texts } = yield* started(
        [Effect.zipRight(Deferred.await(gate), says({ [a]: "Old." })), says({ [b]: "New." })],
        { auto_refresh_hours: 1 },
        counter
      )
      yield* until(
        Effect.sync(() => counter.count),
        (count) => count === 1
      )
      const changed = yield* knowledge.update(by.project, id, { source_url: `${source_url}?2` })
      expect(changed).toMatchObject({ status: "refreshing", source_url: `${source_url}?2`, auto_refresh_hours: 1 })
      yield* until(get, ({ status }) => status === "ready")
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      expect(yield* texts).toEqual(["New."])
      expect(yield* events).toHaveLength(1)

      yield* knowledge.refresh(by.project, id)
      const text = yield* knowledge.update(by.project, id, { content: "Text." })
      expect(text).toMatchObject({
        source_type: "text",
        source_url: null,
        status: "ready",
        auto_refresh_hours: null,
        last_refreshed_at: null
      })
      yield* settle
      expect(yield* texts).toEqual(["Text."])
      expect((yield* Effect.flip(knowledge.refresh(by.project, id))).code).toBe("KNOWLEDGE_BASE_NOT_REFRESHABLE")
    }))

  test("ends without an event when its base, or its project, is deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const how of ["base", "project"] as const) {
        const gate = yield* Deferred.make<void>()
        const counter = { count: 0 }
        const { base, by, context, events, id, knowledge } = yield* started(
          [Effect.zipRight(Deferred.await(gate), says({ [a]: "Old." }))],
          { auto_refresh_hours: 1 },
          counter
        )
        yield* until(
          Effect.sync(() => counter.count),
          (count) => count === 1
        )
        yield* how === "base"
          ? knowledge.remove(by.project, id)
          : Context.get(context, Projects).remove(by.org.id, by.project.public_id)
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        expect(yield* events).toEqual([])
        expect(yield* passagesOf(base.id)).toEqual([])
        expect(yield* sql`select 1 from knowledge_bases where id = ${base.id} and next_at is not null`).toEqual([])
      }
    }))

  test("refuses URLs that are not public, and a schedule without a URL", () =>
    Effect.gen(function* () {
      const { by, first, id, knowledge } = yield* started([says({ [a]: "One." })])
      yield* first
      for (const [url, message] of [
        ["http://example.com/", "source_url must be a valid public HTTPS URL"],
        ["https://127.0.0.1/", "source_url blocked by SSRF filter"],
        ["hello", "source_url must be a valid public HTTPS URL"]
      ] as const) {
        const error = yield* Effect.flip(knowledge.update(by.project, id, { source_url: url }))
        expect(error).toMatchObject({ code: "VALIDATION_ERROR", details: { source_url: message } })
      }
      const body = { name: "x", description: null, content: "x", auto_refresh_hours: 5 }
      for (const work of [
        knowledge.create(by, body),
        knowledge.update(by.project, id, { content: "x", auto_refresh_hours: 5 })
      ]) {
        expect(yield* Effect.flip(work)).toMatchObject({
          details: { auto_refresh_hours: "auto_refresh_hours needs a source_url" }
        })
      }
      expect(yield* knowledge.get(by.project, id)).toMatchObject({ source_url, entry_count: 1, status: "ready" })
    }))
})
