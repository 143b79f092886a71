import { SqlClient } from "@effect/sql"
import { newKnowledgeBaseId, newOrgId, newProjectId } from "@svc/api/Ids"
import { passagesOfText } from "@svc/knowledge/NewPassages"
import { PassagesRepo } from "@svc/knowledge/PassagesRepo"
import { jargon } from "@svc/knowledge/testing/Recall"
import { Clock, Console, Effect } from "effect"
import { BenchFailed } from "./Child.ts"

/** Bases and the passages of each: 50,000 together. */
const sizes = { large: { bases: 20, passages: 2000 }, small: { bases: 100, passages: 100 } }

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

/** How long an effect takes, in milliseconds. */
export const millis = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* Clock.currentTimeNanos
    yield* effect
    return Number((yield* Clock.currentTimeNanos) - before) / 1e6
  })

/** Fills a database with bases of 50,000 passages together, and one of the whole book. */
export const seed = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* PassagesRepo
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

  return { large, small, bookId }
})

export type Seeded = Effect.Effect.Success<typeof seed>
