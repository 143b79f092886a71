import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { KnowledgeBaseCreate } from "@svc/api/knowledge/KnowledgeBase"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import type { Database } from "@svc/database/Database"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Deferred, Effect, Exit, Layer, Logger, Schema, Scope, TestClock } from "effect"
import { Knowledge } from "../../src/Knowledge.ts"
import { KnowledgeSearch } from "../../src/KnowledgeSearch.ts"
import { EmbeddingWorker } from "../../src/vectors/EmbeddingWorker.ts"
import { owner, servicesWith } from "../Fixture.ts"
import { fails, meaningOf, meaningProvider } from "./Meanings.ts"

type Provider = ReturnType<typeof meaningProvider>["provider"]

/** A node with this embedding provider. */
const node = (provider: Provider) =>
  Layer.build(
    Layer.fresh(
      EmbeddingWorker.pipe(
        Layer.provideMerge(servicesWith(provider)),
        Layer.provideMerge(DueCheck.layer),
        Layer.provideMerge(NodeLease.layer)
      )
    )
  )

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
const settle = Effect.repeatN(turn, 5)

const query = <A extends object>(statement: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<A>, unknown>) =>
  Effect.orDie(Effect.flatMap(SqlClient.SqlClient, statement))

/** What the tables have of bases and models. */
const state = query(
  (sql) => sql<{
    readonly base: number
    readonly model: string
    readonly is_due: boolean
    readonly attempts: number
    readonly last_error: string | null
    readonly vectors: number
  }>`
    select knowledge_base_id as base, model || ' ' || dimensions as model, next_at is not null as is_due, attempts, last_error, (
      select count(*) from knowledge_vectors stored
      where stored.knowledge_base_id = state.knowledge_base_id and stored.model_id = state.model_id) as vectors
    from knowledge_embeddings state join knowledge_models on id = model_id order by 1, 2`
)
const isDone = (rows: ReadonlyArray<{ readonly is_due: boolean }>) =>
  rows.length > 0 && rows.every((row) => !row.is_due)
const due = query((sql) => sql`update knowledge_embeddings set next_at = now() where next_at is not null`)

const answers = {
  car: "# Travel\nTake the automobile.",
  doctor: "# Health\nAsk a physician.",
  dog: "# Animals\nFeed the hound.",
  rain: "# Weather\nThere was a downpour.",
  money: "# Shop\nPay with cash."
}
const content = Object.values(answers).join("\n\n")

/** A base on a node with this provider. */
const started = (provider: Provider, text = content) =>
  Effect.gen(function* () {
    const context = yield* node(provider)
    const by = yield* Effect.provide(owner, context)
    const knowledge = Context.get(context, Knowledge)
    const base = yield* knowledge.create(
      by,
      yield* Schema.decodeUnknown(KnowledgeBaseCreate)({ name: "B", content: text })
    )
    const { search } = Context.get(context, KnowledgeSearch)
    const found = (question: string) =>
      Effect.map(search({ base_ids: [base.id] }, question, 5), ({ passages, without_vectors }) => ({
        headings: passages.map(({ heading }) => heading),
        without_vectors
      }))
    return { base, by, context, found, knowledge, search }
  })

const test = (name: string, run: () => Effect.Effect<void, unknown, Database | SqlClient.SqlClient | Scope.Scope>) =>
  it.scoped(name, () =>
    run().pipe(Effect.provide(Logger.remove(Logger.defaultLogger)), Effect.provide(TestDatabase.layer))
  )

const invalid = "meanings answered an invalid vector"
const nan = new Float32Array(8).fill(Number.NaN)
const gate = (): never => expect.fail("no gate")

describe.concurrent("Vectors of a knowledge base", () => {
  test("are made in batches of the provider's limits, and find what is meant with other words", () =>
    Effect.gen(function* () {
      const { provider, requests } = meaningProvider(undefined, { limits: { texts: 2, characters: 24 } })
      const { base, by, found, knowledge } = yield* started(provider)
      expect(yield* found("Is there a puppy?")).toEqual({ headings: [], without_vectors: null })
      expect(yield* until(state, isDone)).toEqual([
        { base: base.id, model: "meanings-1 8", is_due: false, attempts: 0, last_error: null, vectors: 5 }
      ])
      expect(requests.map((texts) => texts.length)).toEqual([2, 2, 1])
      expect(requests[0]).toEqual(["Travel\nTake the automobi", "Health\nAsk a physician."])
      expect((yield* found("Is there a puppy?")).headings[0]).toBe("Animals")
      yield* knowledge.update(by.project, base.public_id, { content: `${content}\n\n# New\nThe novel.` })
      yield* until(state, (rows) => isDone(rows) && rows[0]?.vectors === 6)
      expect(requests.at(-1)).toEqual(["New\nThe novel."])
      expect((yield* found("any books?")).headings[0]).toBe("New")
      yield* knowledge.remove(by.project, base.public_id)
      expect(yield* state).toEqual([])
      expect(yield* query((sql) => sql`select 1 from knowledge_vectors`)).toEqual([])
    }))

  test("are not made where no plugin provides embedding, and are made when one does after a restart", () =>
    Effect.gen(function* () {
      const without = yield* Layer.build(Layer.fresh(servicesWith()))
      const by = yield* Effect.provide(owner, without)
      const body = yield* Schema.decodeUnknown(KnowledgeBaseCreate)({ name: "B", content })
      const { id } = yield* Context.get(without, Knowledge).create(by, body)
      expect(yield* state).toEqual([])
      yield* node(meaningProvider().provider)
      expect(yield* until(state, isDone)).toMatchObject([{ base: id, vectors: 5 }])
    }))

  test("are made again after a failure, and the failure is logged once", () =>
    Effect.gen(function* () {
      let isDown = true
      const { provider, requests } = meaningProvider(() => (isDown ? fails("no route to host") : undefined))
      const logged: Array<string> = []
      const log = Logger.make(({ message }) => void logged.push(String(message)))
      yield* Effect.gen(function* () {
        yield* started(provider)
        const down = yield* until(state, (rows) => (rows[0]?.attempts ?? 0) > 0)
        expect(down).toMatchObject([{ is_due: true, attempts: 1, last_error: "no route to host", vectors: 0 }])
        // Not due yet: the first pause has 5 seconds of the database, whose clock goes on. Longer, it outlasts the looks.
        yield* query(
          (sql) => sql`update knowledge_embeddings set next_at = next_at + interval '1 hour' where next_at > now()`
        )
        yield* settle
        expect(requests).toHaveLength(1)
        yield* due
        yield* until(state, (rows) => rows[0]?.attempts === 2)
        isDown = false
        yield* due
        yield* until(state, isDone)
      }).pipe(Effect.provide(Logger.add(log)))
      expect(logged.filter((line) => line.includes("vectors"))).toEqual([
        "Passages of knowledge bases get no vectors: no route to host; trying again",
        "Passages of knowledge bases get vectors again"
      ])
    }))

  test("are not waited for longer than 60 seconds", () =>
    Effect.gen(function* () {
      let hangs = true
      const { provider } = meaningProvider((_, purpose) => (hangs && purpose === "passage" ? Effect.never : undefined))
      const { found } = yield* started(provider)
      const late = yield* until(
        Effect.zipRight(TestClock.adjust("500 millis"), state),
        (rows) => (rows[0]?.attempts ?? 0) > 0
      )
      expect(late).toMatchObject([{ is_due: true, last_error: "meanings did not answer within 60 seconds" }])
      expect((yield* found("the automobile")).headings[0]).toBe("Travel")
      hangs = false
      yield* due
      yield* until(state, isDone)
    }))

  for (const [what, answer, reason] of [
    ["too few vectors", () => [], "meanings answered 0 vectors for 4 texts"],
    ["vectors of another dimension", (texts: ReadonlyArray<string>) => texts.map(() => Float32Array.of(1, 2)), invalid],
    ["numbers that are not finite", (texts: ReadonlyArray<string>) => texts.map(() => nan), invalid],
    ["vectors of zeros", (texts: ReadonlyArray<string>) => texts.map(() => new Float32Array(8)), invalid]
  ] as const) {
    test(`are not stored when the provider answers ${what}`, () =>
      Effect.gen(function* () {
        const { provider } = meaningProvider((texts, purpose) =>
          purpose === "passage" ? Effect.succeed(answer(texts)) : undefined
        )
        const { found } = yield* started(provider)
        const wrong = yield* until(state, (rows) => (rows[0]?.attempts ?? 0) > 0)
        expect(wrong).toMatchObject([{ is_due: true, last_error: reason, vectors: 0 }])
        expect(yield* found("the automobile")).toEqual({ headings: ["Travel"], without_vectors: null })
      }))
  }

  test("are not stored when the provider throws", () =>
    Effect.gen(function* () {
      const { provider } = meaningProvider(() => Effect.die(new Error("bug")))
      yield* started(provider)
      const rows = yield* until(state, (all) => (all[0]?.attempts ?? 0) > 0)
      expect(rows).toMatchObject([{ last_error: "meanings failed: Error: bug" }])
    }))

  test("are made of all texts but one that the provider refuses, which is tried again by itself", () =>
    Effect.gen(function* () {
      const { provider, requests } = meaningProvider((texts) =>
        texts.some((text) => text.includes("hound")) ? fails("refused", false) : undefined
      )
      const { found } = yield* started(provider)
      const first = yield* until(state, (rows) => (rows[0]?.attempts ?? 0) > 0)
      expect(first).toMatchObject([{ is_due: true, last_error: "refused", vectors: 4 }])
      expect(requests.map((texts) => texts.length)).toEqual([4, 1, 1, 1, 1, 1])
      yield* due
      yield* until(state, (rows) => rows[0]?.attempts === 2)
      expect(requests.slice(6)).toEqual([["Animals\nFeed the hound."]])
      expect((yield* found("Where is my vehicle?")).headings[0]).toBe("Travel")
      expect((yield* found("hound")).headings[0]).toBe("Animals")
    }))

  test("are made once by several nodes, also when one hangs and continues later", () =>
    Effect.gen(function* () {
      const opens = yield* Deferred.make<void>()
      let asked = 0
      const hanging = meaningProvider((texts) =>
        ++asked === 2
          ? Effect.as(
              Deferred.await(opens),
              texts.map(() => meaningOf("book"))
            )
          : undefined
      )
      const { base, found } = yield* started(hanging.provider)
      yield* until(
        Effect.sync(() => asked),
        (count) => count === 2
      )
      // The first batch is stored, the second waits.
      expect(yield* state).toMatchObject([{ base: base.id, vectors: 4, is_due: true }])
      const [second, third] = [meaningProvider(), meaningProvider()]
      yield* node(second.provider)
      yield* node(third.provider)
      yield* settle
      expect([second.requests, third.requests]).toEqual([[], []])
      // The claim ends.
      yield* due
      yield* until(state, isDone)
      expect([...second.requests, ...third.requests]).toEqual([["Shop\nPay with cash."]])
      yield* Deferred.succeed(opens, undefined)
      yield* settle
      expect(yield* state).toMatchObject([{ vectors: 5, attempts: 0, last_error: null, is_due: false }])
      expect((yield* found("money")).headings[0]).toBe("Shop")
    }))

  test("are completed by another node when theirs dies", () =>
    Effect.gen(function* () {
      let asked = 0
      const dying = meaningProvider(() => (++asked === 2 ? Effect.never : undefined))
      const scope = yield* Scope.make()
      yield* Scope.extend(started(dying.provider), scope)
      yield* until(
        Effect.sync(() => asked),
        (count) => count === 2
      )
      yield* Scope.close(scope, Exit.void)
      expect(yield* state).toMatchObject([{ vectors: 4, is_due: true }])
      yield* query((sql) => sql`update nodes set expires_at = now() - interval '1 minute'`)
      const next = meaningProvider()
      yield* node(next.provider)
      yield* until(Effect.zipRight(TestClock.adjust("500 millis"), state), isDone)
      expect(next.requests).toEqual([["Shop\nPay with cash."]])
    }))

  test("are those of the new passages when a base changes while they are made, and none when it is deleted", () =>
    Effect.gen(function* () {
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let asked = 0
      const { provider } = meaningProvider((texts, purpose) => {
        const gate = purpose === "passage" ? gates[asked++] : undefined
        return gate === undefined
          ? undefined
          : Effect.as(
              Deferred.await(gate),
              texts.map((text) => meaningOf(text))
            )
      })
      const { base, by, knowledge } = yield* started(provider)
      yield* until(
        Effect.sync(() => asked),
        (count) => count === 1
      )
      yield* knowledge.update(by.project, base.public_id, { content: `${answers.car}\n\n# New\nThe novel.` })
      yield* settle
      expect(asked).toBe(1)
      yield* Deferred.succeed(gates[0] ?? gate(), undefined)
      yield* until(
        Effect.sync(() => asked),
        (count) => count === 2
      )
      // One passage of the first batch is still there; the other one is made now.
      expect(yield* state).toMatchObject([{ vectors: 1 }])
      yield* knowledge.remove(by.project, base.public_id)
      yield* Deferred.succeed(gates[1] ?? gate(), undefined)
      yield* settle
      expect(yield* state).toEqual([])
      expect(yield* query((sql) => sql`select 1 from knowledge_vectors`)).toEqual([])
    }))

  test("are made again for another model, of which those of the first are never compared", () =>
    Effect.gen(function* () {
      const first = yield* Scope.make()
      const { base } = yield* Scope.extend(started(meaningProvider().provider), first)
      yield* until(state, isDone)
      yield* Scope.close(first, Exit.void)
      const larger = meaningProvider(undefined, { model: "meanings-2", dimensions: 16 })
      const context = yield* node(larger.provider)
      const { search } = Context.get(context, KnowledgeSearch)
      // The vectors of 8 numbers are not those of this model.
      expect(yield* search({ base_ids: [base.id] }, "a puppy", 5)).toMatchObject({ passages: [] })
      yield* until(state, isDone)
      expect(yield* state).toMatchObject([
        { model: "meanings-1 8", vectors: 5 },
        { model: "meanings-2 16", vectors: 5 }
      ])
      expect((yield* search({ base_ids: [base.id] }, "a puppy", 5)).passages[0]?.heading).toBe("Animals")
      // Nobody has loaded the first one for a week.
      yield* query((sql) => sql`update knowledge_models set seen_at = now() - interval '8 days'`)
      yield* until(Effect.zipRight(TestClock.adjust("500 millis"), state), (rows) => rows.length === 1)
      expect(yield* state).toMatchObject([{ model: "meanings-2 16", vectors: 5 }])
    }))
})
