import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { AgentCreate } from "@svc/api/agents/AgentBody"
import { KnowledgeBaseCreate, KnowledgeBaseUpdate } from "@svc/api/knowledge/KnowledgeBase"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Projects } from "@svc/auth/Projects"
import { Deferred, Effect, Either, Exit, Fiber, Schema } from "effect"
import { Knowledge } from "../src/Knowledge.ts"
import { create, owner, passagesOf, Test } from "./Fixture.ts"

const entries = [
  { question: "When are you open?", answer: "From 9 to 17 hours." },
  { question: "Where are you?", answer: "Damrak 1." }
]

/** A new agent that uses the base. */
const agentWith = (by: ProjectPrincipal, base: string) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const body = { name: "Reception", server_url: "https://example.com/voice", knowledge_base_ids: [base] }
    return (yield* agents.create(by, yield* Schema.decodeUnknown(AgentCreate)(body))).agent
  })

layer(Test)("knowledge bases", (it) => {
  it.effect("are made from a text, which is cut into passages and given back", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const content = "# Hours\nNine to five.\n\n# Place\nDamrak 1."
      const base = yield* create(by, { content, description: "  About us " })
      expect(base).toEqual({
        id: expect.any(Number),
        public_id: expect.stringMatching(/^kb_[0-9a-z]{24}$/),
        name: "FAQ",
        description: "About us",
        source_type: "text",
        source_url: null,
        content,
        entry_count: 2,
        entries_truncated: 0,
        status: "ready",
        auto_refresh_hours: null,
        last_refreshed_at: null,
        last_error: null,
        consecutive_failures: 0,
        created_at: expect.any(String),
        updated_at: expect.any(String)
      })
      for (const id of [base.public_id, String(base.id)]) expect(yield* knowledge.get(by.project, id)).toEqual(base)
      expect(
        yield* sql`
          select org_id, project_id, position, heading, text, source_url, encode(content_hash, 'hex') as hash
          from knowledge_passages where knowledge_base_id = ${base.id} order by position`
      ).toEqual(
        [
          { heading: "Hours", text: "Nine to five." },
          { heading: "Place", text: "Damrak 1." }
        ].map(({ heading, text }, position) => ({
          org_id: by.org.id,
          project_id: by.project.id,
          position,
          heading,
          text,
          source_url: null,
          hash: createHash("sha256").update(`${heading}\0${text}`).digest("hex")
        }))
      )
    })
  )

  it.effect("are made from question-answer pairs, each the heading of its answer", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const base = yield* create(by, { entries })
      expect(base).toMatchObject({ source_type: "qa", entries, entry_count: 2 })
      expect(base).not.toHaveProperty("content")
      expect(yield* passagesOf(base.id)).toMatchObject(
        entries.map(({ answer, question }) => ({ heading: question, text: answer }))
      )
    })
  )

  it.effect("keep a repeated passage once", () =>
    Effect.gen(function* () {
      const by = yield* owner
      expect(yield* create(by, { entries: [...entries, ...entries] })).toMatchObject({ entry_count: 2 })
    })
  )

  it.effect("have at most 2,000 passages, and say how many were cut off", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const content = Array.from({ length: 2345 }, (_, n) => `# Title ${n}\nText ${n}.`).join("\n")
      const base = yield* create(by, { content })
      expect(base).toMatchObject({ entry_count: 2000, entries_truncated: 345 })
      const passages = yield* passagesOf(base.id)
      expect(passages).toHaveLength(2000)
      expect(passages.at(-1)).toMatchObject({ heading: "Title 1999", text: "Text 1999." })
    })
  )

  it.effect("refuse bodies without or with several sources, and too large ones, and change nothing", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const by = yield* owner
      const none = yield* Effect.flip(create(by, {}))
      expect(none.details).toEqual({ content: "one of content, source_url, entries is required." })
      const both = yield* Effect.flip(create(by, { content: "Hello.", entries }))
      expect(Object.keys(both.details ?? {})).toEqual(["content", "entries"])
      const refused = Schema.decodeUnknownEither(KnowledgeBaseCreate)
      for (const body of [
        { content: "x".repeat(500_001) },
        { content: "😀".repeat(500_001) },
        { content: "  \n" },
        { content: "a\u0000b" },
        { content: 7 },
        { content: null },
        { entries: [] },
        { entries: Array.from({ length: 1001 }, () => entries[0]) },
        { entries: [{ question: "", answer: "x" }] },
        { entries: [{ question: "x" }] },
        { entries: [{ question: "x".repeat(1001), answer: "x" }] },
        { entries: [{ question: "x", answer: "x".repeat(10_001) }] },
        { content: "x", name: "" },
        { content: "x", description: "x".repeat(2001) }
      ]) {
        expect(Either.isLeft(refused({ name: "FAQ", ...body }))).toBe(true)
      }
      expect(Either.isRight(refused({ name: "FAQ", content: "😀".repeat(500_000) }))).toBe(true)
      expect((yield* knowledge.list(by.project, { limit: 10 })).knowledge_bases).toEqual([])
    })
  )

  it.effect("are listed newest first without their contents, with a cursor that may be a deleted base", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const by = yield* owner
      const other = yield* create(yield* owner, { content: "Other." })
      const bases = yield* Effect.replicateEffect(create(by, { content: "Text." }), 5)
      const ids = bases.map(({ public_id }) => public_id).reverse()
      const first = yield* knowledge.list(by.project, { limit: 3 })
      expect(first.knowledge_bases.map(({ public_id }) => public_id)).toEqual(ids.slice(0, 3))
      expect(first.knowledge_bases[0]).not.toHaveProperty("content")
      expect(first.next_cursor).toBe(ids[2])
      yield* knowledge.remove(by.project, ids[2] ?? "")
      for (const after of [ids[2], String(bases[2]?.id)]) {
        const second = yield* knowledge.list(by.project, { limit: 3, after })
        expect(second).toMatchObject({
          knowledge_bases: [{ public_id: ids[3] }, { public_id: ids[4] }],
          next_cursor: null
        })
      }
      for (const after of ["", "x", "\u0000", other.public_id, String(other.id), "9".repeat(15)]) {
        const error = yield* Effect.flip(knowledge.list(by.project, { limit: 3, after }))
        expect(Object.keys(error.details ?? {})).toEqual(["after"])
      }
    })
  )

  it.effect("are not found by other projects, nor by what is no id", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const base = yield* create(yield* owner, { content: "Text." })
      const { project } = yield* owner
      for (const id of [base.public_id, String(base.id), "", "0", "\u0000", "kb_x", "9".repeat(30)]) {
        for (const work of [
          knowledge.get(project, id),
          knowledge.update(project, id, { name: "Mine" }),
          knowledge.remove(project, id)
        ]) {
          expect(yield* Effect.flip(work)).toMatchObject({ code: "KNOWLEDGE_BASE_NOT_FOUND", status: 404 })
        }
      }
    })
  )

  it.effect("change only in the fields that PATCH gives, and cut new content anew", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const by = yield* owner
      const base = yield* create(by, { content: "# A\nOne.\n# B\nTwo.", description: "Old" })
      const before = yield* passagesOf(base.id)
      const renamed = yield* knowledge.update(by.project, base.public_id, { name: "New" })
      expect(renamed).toEqual({ ...base, name: "New", updated_at: renamed.updated_at })
      expect(yield* passagesOf(base.id)).toEqual(before)
      const bare = yield* knowledge.update(by.project, base.public_id, { description: null })
      expect(bare).toMatchObject({ name: "New", description: null })

      const cut = yield* knowledge.update(by.project, String(base.id), { content: "# B\nTwo.\n# C\nThree." })
      expect(cut).toMatchObject({ content: "# B\nTwo.\n# C\nThree.", entry_count: 2 })
      const after = yield* passagesOf(base.id)
      expect(after.map(({ text }) => text)).toEqual(["Two.", "Three."])
      // A passage that stays keeps its id.
      expect(after[0]?.id).toBe(before[1]?.id)

      const answers = yield* knowledge.update(by.project, base.public_id, { entries })
      expect(answers).toMatchObject({ source_type: "qa", entries, entry_count: 2 })
      expect(answers).not.toHaveProperty("content")

      expect(yield* Effect.flip(knowledge.update(by.project, base.public_id, {}))).toMatchObject({
        code: "BAD_REQUEST"
      })
      const both = yield* Effect.flip(knowledge.update(by.project, base.public_id, { content: "x", entries }))
      expect(both.code).toBe("VALIDATION_ERROR")
      expect(Either.isLeft(Schema.decodeUnknownEither(KnowledgeBaseUpdate)({ name: " " }))).toBe(true)
      expect(yield* knowledge.get(by.project, base.public_id)).toEqual(answers)
    })
  )

  it.effect("have the passages of one of two changes at once", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const by = yield* owner
      const base = yield* create(by, { content: "Zero." })
      const texts = Array.from({ length: 6 }, (_, n) => `# Title\nText ${n}.\n# Other\nText ${n}.`)
      yield* Effect.forEach(texts, (content) => knowledge.update(by.project, base.public_id, { content }), {
        concurrency: "unbounded",
        discard: true
      })
      const { content } = yield* knowledge.get(by.project, base.public_id)
      const passages = yield* passagesOf(base.id)
      expect(passages.map(({ heading, text }) => `# ${heading}\n${text}`).join("\n")).toBe(content)
    })
  )

  it.effect("are detached from their agents when they are deleted", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const base = yield* create(by, { content: "Text." })
      const agent = yield* agentWith(by, base.public_id)
      expect(agent.knowledge_base_ids).toEqual([{ id: base.id, public_id: base.public_id }])
      yield* knowledge.remove(by.project, base.public_id)
      expect((yield* agents.get(by.project, agent.public_id)).knowledge_base_ids).toEqual([])
      expect(yield* sql`select 1 from agent_knowledge_bases where knowledge_base_id = ${base.id}`).toEqual([])
      expect(yield* passagesOf(base.id)).toEqual([])
      expect((yield* Effect.flip(knowledge.get(by.project, base.public_id))).code).toBe("KNOWLEDGE_BASE_NOT_FOUND")
      expect((yield* Effect.flip(knowledge.remove(by.project, base.public_id))).code).toBe("KNOWLEDGE_BASE_NOT_FOUND")
      const late = yield* Effect.flip(agents.update(by, agent.public_id, { knowledge_base_ids: [base.id] }))
      expect(late.details).toHaveProperty("knowledge_base_ids.0")
    })
  )

  it.effect("end with their project, also while an agent's links are being removed", () =>
    Effect.gen(function* () {
      const knowledge = yield* Knowledge
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const base = yield* create(by, { content: "Text." })
      const agent = yield* agentWith(by, base.public_id)
      const unlinked = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      // Holds the link, as the deletion of the project does, while the base is deleted.
      const holder = yield* Effect.fork(
        sql.withTransaction(
          Effect.zipRight(
            sql`delete from agent_knowledge_bases where agent_id = ${agent.id}`,
            Effect.zipRight(Deferred.succeed(unlinked, undefined), Deferred.await(go))
          )
        )
      )
      yield* Deferred.await(unlinked)
      yield* knowledge.remove(by.project, base.public_id)
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(holder)

      const second = yield* create(by, { content: "Text." })
      yield* projects.remove(by.org.id, by.project.public_id)
      expect((yield* Effect.flip(knowledge.get(by.project, second.public_id))).code).toBe("KNOWLEDGE_BASE_NOT_FOUND")
      expect(yield* passagesOf(second.id)).toEqual([])
      expect(Exit.isFailure(yield* Effect.exit(create(by, { content: "Late." })))).toBe(true)
    })
  )
})
