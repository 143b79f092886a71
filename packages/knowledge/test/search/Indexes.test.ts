import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import * as Migrations from "@svc/database/Migrations"
import knowledgeIndex from "@svc/database/migrations/0034_knowledge_index"
import { Context, Effect, Layer } from "effect"
import { Knowledge } from "../../src/Knowledge.ts"
import { KnowledgeSearch } from "../../src/KnowledgeSearch.ts"
import { BaseIndexes } from "../../src/search/BaseIndexes.ts"
import { SearchRepo } from "../../src/search/SearchRepo.ts"
import { create, owner, Test } from "../Fixture.ts"

const stored = (id: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      select config::text, passages, terms, encode(counts, 'hex') as counts, encode(postings, 'hex') as postings
      from knowledge_indexes where knowledge_base_id = ${id}`
  )

layer(Test)("the index of a base", (it) => {
  it.effect("is read again when another node has changed the base", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const knowledge = yield* Knowledge
      const { id, public_id } = yield* create(by, { content: "We sell bicycles." })
      const { search } = yield* KnowledgeSearch
      const texts = (text: string) =>
        Effect.map(search({ base_ids: [id] }, text, 5), ({ passages }) => passages.map((passage) => passage.text))
      expect(yield* texts("bicycles")).toEqual(["We sell bicycles."])
      // The service writes to the database only, as that of another process would.
      yield* knowledge.update(by.project, public_id, { content: "We sell tricycles." })
      expect(yield* texts("tricycles")).toEqual(["We sell tricycles."])
      expect(yield* texts("sell")).toEqual(["We sell tricycles."])
      yield* knowledge.update(by.project, public_id, { content: "Closed." })
      expect(yield* texts("bicycles")).toEqual([])
      yield* knowledge.remove(by.project, public_id)
      expect(yield* search({ base_ids: [id] }, "closed", 5)).toMatchObject({ bases: 0, passages: [] })
    })
  )

  it.effect("is the newest one when its base changes while it is searched", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const knowledge = yield* Knowledge
      const repo = yield* SearchRepo
      const { id, public_id } = yield* create(by, { content: "# Bicycles\nGreen ones." })
      let left = 1
      const Changing = Layer.succeed(SearchRepo, {
        ...repo,
        // Before the passages are read there are others, in another order.
        passages: (places) =>
          Effect.suspend(() =>
            left-- > 0
              ? knowledge.update(by.project, public_id, { content: "# Tents\nBlue ones.\n# Bicycles\nRed ones." })
              : Effect.void
          ).pipe(Effect.orDie, Effect.zipRight(repo.passages(places)))
      })
      const { search } = Context.get(
        yield* Layer.build(Layer.provide(KnowledgeSearch.layerFrom, Layer.provideMerge(BaseIndexes.layer, Changing))),
        KnowledgeSearch
      )
      const found = yield* search({ base_ids: [id] }, "bicycles", 1)
      expect(found.passages).toMatchObject([{ heading: "Bicycles", text: "Red ones." }])
    }).pipe(Effect.provide(SearchRepo.layer), Effect.scoped)
  )

  it.effect("is read once by searches at the same time, and by the next when it could not be read", () =>
    Effect.gen(function* () {
      const { id } = yield* create(yield* owner, { content: "We sell bicycles." })
      const repo = yield* SearchRepo
      let reads = 0
      const Failing = Layer.succeed(SearchRepo, {
        ...repo,
        index: (of) =>
          Effect.suspend(() =>
            reads++ === 0 ? Effect.zipRight(repo.index(of), Effect.dieMessage("no connection")) : repo.index(of)
          )
      })
      const { get } = Context.get(yield* Layer.build(Layer.provide(BaseIndexes.layer, Failing)), BaseIndexes)
      const { bases } = yield* repo.query({ base_ids: [id] }, "")
      const many = Effect.all(
        Array.from({ length: 20 }, () => Effect.exit(get(bases))),
        { concurrency: "unbounded" }
      )
      expect(new Set((yield* many).map(({ _tag }) => _tag))).toEqual(new Set(["Failure"]))
      expect(new Set((yield* many).map(({ _tag }) => _tag))).toEqual(new Set(["Success"]))
      yield* many
      expect(reads).toBe(2)
    }).pipe(Effect.provide(SearchRepo.layer), Effect.scoped)
  )
})

layer(Test, { timeout: "60 seconds" })("an upgrade", (it) => {
  it.effect("makes the index row of each base from the tables that had it before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const { id } = yield* create(by, {
        content: "# Öffnung\nWir haben am Montag und am Dienstag auf, aber nicht an Feiertagen."
      })
      const { id: empty } = yield* create(by, { source_url: "https://example.com/" })
      const before = yield* stored(id)
      yield* sql`drop table knowledge_indexes`
      yield* sql`drop sequence knowledge_index_versions`
      yield* sql`drop index knowledge_passages_place`
      for (const name of ["knowledge_index", "knowledge_config_of", "knowledge_fold"]) {
        yield* sql`drop function ${sql(name)}`
      }
      yield* knowledgeIndex
      yield* sql`delete from migrations where name = '0038_knowledge_index_rows'`
      expect(yield* Migrations.run).toEqual(["0038_knowledge_index_rows"])
      expect(yield* stored(id)).toEqual(before)
      expect(yield* stored(empty)).toEqual([{ config: "simple", passages: 0, terms: "", counts: "", postings: "" }])
    })
  )
})
