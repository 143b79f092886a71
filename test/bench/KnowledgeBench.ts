import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { SqlClient } from "@effect/sql"
import { newKnowledgeBaseId, newOrgId, newProjectId } from "@svc/api/Ids"
import { Database } from "@svc/database/Database"
import { KnowledgeSearch } from "@svc/knowledge/KnowledgeSearch"
import { passagesOfText } from "@svc/knowledge/NewPassages"
import { PassagesRepo } from "@svc/knowledge/PassagesRepo"
import { questions } from "@svc/knowledge/testing/Questions"
import { jargon, recall } from "@svc/knowledge/testing/Recall"
import { Clock, ConfigProvider, Console, Effect, Layer, Logger, LogLevel } from "effect"
import { BenchFailed } from "./Child.ts"
import { table } from "./Table.ts"
import { type Line, quantile } from "./Verdict.ts"

/** `npm run bench:knowledge`: look-ups among 50,000 passages, and how many callers' questions are answered. */

/** Bases and the passages of each: 50,000 together. The first row is of one organization with large bases. */
const sizes = { large: { bases: 10, passages: 2000 }, small: { bases: 300, passages: 100 } }
/** How often each question is asked. */
const times = 6

/** Deterministic numbers from 0 to 1. */
const randomOf = (seed: number) => () => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}

/** A text of sentences drawn from the book, which is cut into about that many passages. */
const mixed = (sentences: ReadonlyArray<string>, passages: number, random: () => number): string =>
  Array.from({ length: passages }, (_, n) => {
    const drawn = Array.from({ length: 4 }, () => sentences[Math.floor(random() * sentences.length)] ?? "")
    return `# Part ${n}\n\n${drawn.join(" ").slice(0, 780)}`
  }).join("\n\n")

/** The same words as a recognizer or a hurried typist might give them. */
const misspelled = (text: string): string =>
  text.replace(/\p{L}{6,}/gu, (word) => `${word.slice(0, 3)}${word[4]}${word[3]}${word.slice(5)}`)

const millis = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* Clock.currentTimeNanos
    yield* effect
    return Number((yield* Clock.currentTimeNanos) - before) / 1e6
  })

const measure = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* PassagesRepo
  const { search } = yield* KnowledgeSearch
  const book = yield* jargon
  const sentences = book.split(/(?<=[.!?])\s+/).filter((sentence) => sentence.length > 40)
  const random = randomOf(7)

  const one = <A>(rows: ReadonlyArray<A>) =>
    rows[0] === undefined ? new BenchFailed({ message: "no row" }) : Effect.succeed(rows[0])
  const row = (statement: Effect.Effect<ReadonlyArray<{ readonly id: number }>, unknown>) =>
    Effect.flatMap(Effect.orDie(statement), one)
  const owner = Effect.gen(function* () {
    const [org, project] = [yield* newOrgId, yield* newProjectId]
    const { id: org_id } = yield* row(
      sql`insert into organizations (public_id, name, tier) values (${org}, 'Bench', 'enterprise') returning id`
    )
    const { id: project_id } = yield* row(
      sql`insert into projects (public_id, org_id, name) values (${project}, ${org_id}, 'Bench') returning id`
    )
    return { org_id, project_id }
  })
  /** Makes a base and returns its id and how long its index took, with its passages. */
  const makeBase = (of: { readonly org_id: number; readonly project_id: number }, text: string) =>
    Effect.gen(function* () {
      const public_id = yield* newKnowledgeBaseId
      const { id } = yield* row(sql`
        insert into knowledge_bases (public_id, org_id, project_id, name, source_type)
        values (${public_id}, ${of.org_id}, ${of.project_id}, 'Bench', 'text') returning id`)
      const { passages } = yield* passagesOfText(text)
      const took = yield* millis(Effect.orDie(sql.withTransaction(repo.replace({ id, ...of }, passages))))
      return { id, took }
    })

  yield* Console.error("seeding 50,000 passages …")
  const organization = yield* owner
  const large = yield* Effect.replicateEffect(
    Effect.suspend(() => makeBase(organization, mixed(sentences, sizes.large.passages, random))),
    sizes.large.bases
  )
  const small = yield* Effect.replicateEffect(
    Effect.gen(function* () {
      return yield* makeBase(yield* owner, mixed(sentences, sizes.small.passages, random))
    }),
    sizes.small.bases
  )
  const { id: bookId } = yield* makeBase(yield* owner, book)
  yield* sql`vacuum analyze`

  const ids = (bases: ReadonlyArray<{ readonly id: number }>) => bases.map(({ id }) => id)
  const scopes = [
    ["one base of 100 passages", ids(small.slice(0, 1))],
    ["20 bases of 100 passages", ids(small.slice(0, 20))],
    ["one base of 2,000 passages", ids(large.slice(0, 1))],
    ["10 bases of 2,000 passages", ids(large)]
  ] as const
  const latencies = yield* Effect.forEach(scopes, ([what, base_ids]) =>
    Effect.gen(function* () {
      const asked = [...questions.map(({ question }) => question), ...questions.map((q) => misspelled(q.question))]
      const ask = (text: string) => millis(search({ base_ids }, text, 6))
      // Warm-up of plans and database pages.
      yield* Effect.forEach(asked.slice(0, 30), ask)
      const took = yield* Effect.replicateEffect(Effect.forEach(asked, ask), times)
      return { what, took: took.flat() }
    })
  )
  const { missed, share } = yield* recall((text) => search({ base_ids: [bookId] }, text, 5))
  return {
    latencies,
    share,
    missed,
    indexed: quantile(
      large.map(({ took }) => took),
      0.5
    )
  }
})

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-bench-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const program = Effect.gen(function* () {
  const directory = yield* temporary
  const Services = Layer.merge(KnowledgeSearch.layer, PassagesRepo.layer).pipe(
    Layer.provideMerge(Database.layer),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_DATA_DIR", directory]]))))
  )
  const { indexed, latencies, missed, share } = yield* Effect.provide(measure, Services)
  const lines: ReadonlyArray<Line> = [
    ...latencies.flatMap(
      ({ took, what }): ReadonlyArray<Line> => [
        { what: `${what}: median`, figure: quantile(took, 0.5), unit: "ms" },
        { what: `${what}: p99`, figure: quantile(took, 0.99), unit: "ms", budget: { must: 20, goal: 8 } }
      ]
    ),
    {
      what: `${questions.length} questions answered by the first 5 passages`,
      figure: share * 100,
      unit: "%",
      budget: { must: 85, goal: 95, atLeast: true }
    },
    { what: "storing and indexing 2,000 passages", figure: indexed, unit: "ms" }
  ]
  yield* Console.log(
    table(`Look-ups among 50,000 passages, words as they are and misspelled, ${times} times each`, lines)
  )
  yield* Console.log(`Not answered:\n${missed.map((question) => `  ${question}`).join("\n")}`)
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
