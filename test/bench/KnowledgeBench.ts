import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import { KnowledgeChanges } from "@svc/knowledge/KnowledgeChanges"
import { KnowledgeSearch } from "@svc/knowledge/KnowledgeSearch"
import { PassagesRepo } from "@svc/knowledge/PassagesRepo"
import { questions } from "@svc/knowledge/testing/Questions"
import { recall } from "@svc/knowledge/testing/Recall"
import { EmbeddingModel } from "@svc/knowledge/vectors/EmbeddingModel"
import { EmbeddingWorker } from "@svc/knowledge/vectors/EmbeddingWorker"
import { VectorSearch } from "@svc/knowledge/vectors/VectorSearch"
import { VectorsRepo } from "@svc/knowledge/vectors/VectorsRepo"
import { HashedEmbedding } from "@svc/plugin-simulated/HashedEmbedding"
import { Embedding } from "@svc/providers/Embedding"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, Console, Context, Effect, Layer, Logger, LogLevel } from "effect"
import { millis, type Seeded, seed } from "./KnowledgeSeed.ts"
import { StallMeter } from "./StallMeter.ts"
import { table } from "./Table.ts"
import { type Line, quantile } from "./Verdict.ts"

/** `npm run bench:knowledge`: look-ups among 50,000 passages, and how many callers' questions are answered. */

/** How often each question is asked. */
const times = 6
/** Between look-ups, so that what follows one of them does not count for the next: also the wait of callers is longer. */
const pause = "2 millis"

/** The same words as a recognizer or a hurried typist might give them. */
const misspelled = (text: string): string =>
  text.replace(/\p{L}{6,}/gu, (word) => `${word.slice(0, 3)}${word[4]}${word[3]}${word.slice(5)}`)

/** Asks all questions in all scopes, words as they are and misspelled. */
const measure = Effect.fn("measure")(function* ({ bookId, large, small }: Seeded) {
  const { search } = yield* KnowledgeSearch
  const ids = (bases: ReadonlyArray<{ readonly id: number }>) => bases.map(({ id }) => id)
  const scopes = [
    ["1 base of 100 passages", ids(small.slice(0, 1))],
    ["20 bases of 100 passages", ids(small.slice(0, 20))],
    ["1 base of 2,000 passages", ids(large.slice(0, 1))],
    ["10 bases of 2,000 passages", ids(large.slice(0, 10))],
    ["20 bases of 2,000 passages", ids(large)]
  ] as const
  const asked = questions.map(({ question }) => question)
  const spellings = [
    ["words as they are", asked],
    ["misspelled words", asked.map(misspelled)]
  ] as const
  const stalls = new StallMeter()
  const ask = (base_ids: ReadonlyArray<number>) => (text: string) =>
    Effect.zipLeft(millis(search({ base_ids }, text, 6)), Effect.sleep(pause))
  // The first look-up reads the indexes, with code that is not compiled yet in the first row.
  const first = yield* Effect.forEach(scopes, ([what, base_ids]) =>
    Effect.gen(function* () {
      stalls.take()
      const took = yield* ask(base_ids)(misspelled(asked[0] ?? ""))
      return { what: `first look-up, ${what}`, took: [took], stall: stalls.take() }
    })
  )
  const latencies = yield* Effect.forEach(scopes, ([what, base_ids]) =>
    Effect.forEach(spellings, ([spelling, texts]) =>
      Effect.gen(function* () {
        yield* Effect.forEach(texts, ask(base_ids))
        stalls.take()
        const took = yield* Effect.replicateEffect(Effect.forEach(texts, ask(base_ids)), times)
        return { what: `${what}, ${spelling}`, took: took.flat(), stall: stalls.take() }
      })
    )
  )
  const { missed, share } = yield* recall((text) => search({ base_ids: [bookId] }, text, 5))
  return { first, latencies: latencies.flat(), share, missed }
})

/** The search without embedding, or with the vectors of this provider, and the worker that makes them. */
const searchWith = (embedding: Context.Tag.Service<Embedding> | undefined) =>
  Layer.merge(KnowledgeSearch.layer, EmbeddingWorker).pipe(
    Layer.provide(VectorSearch.layer),
    Layer.provideMerge(EmbeddingModel.layer),
    Layer.provideMerge(VectorsRepo.layer),
    Layer.provide(
      Layer.succeed(Providers, {
        plugins: [],
        telephony: [],
        speechToText: [],
        textToSpeech: [],
        languageModel: [],
        voiceActivity: undefined,
        objectStore: undefined,
        embedding
      })
    ),
    Layer.fresh
  )

/** Waits until no base lacks vectors. */
const embedded = Effect.gen(function* () {
  const model = yield* EmbeddingModel
  const repo = yield* VectorsRepo
  if (model === undefined) return
  yield* Effect.repeat(Effect.zipRight(Effect.sleep("100 millis"), repo.backlog(model.provider)), {
    until: ({ bases }) => bases === 0
  })
})

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-bench-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const latencyLine =
  (must: number, goal: number) =>
  ({
    stall,
    took,
    what
  }: {
    readonly what: string
    readonly took: ReadonlyArray<number>
    readonly stall: number
  }): Line => ({
    what,
    figure: quantile(took, 0.99),
    others: [quantile(took, 0.5), stall],
    unit: "ms",
    budget: { must, goal }
  })

const show = Effect.fn("show")(function* (
  title: string,
  { first, latencies, missed, share }: Effect.Effect.Success<ReturnType<typeof measure>>
) {
  // The model waits at most 150 ms for a look-up.
  const lines = [...latencies.map(latencyLine(20, 8)), ...first.map(latencyLine(150, 50))]
  yield* Console.log(
    table(`${title}, ${questions.length} questions, ${times} times each`, lines, ["p99", "median", "longest stall"])
  )
  const answered: Line = {
    what: `${questions.length} questions answered by the first 5 passages`,
    figure: share * 100,
    unit: "%",
    budget: { must: 85, goal: 95, atLeast: true }
  }
  yield* Console.log(`\n${table("Answers", [answered])}`)
  yield* Console.log(`Not answered:\n${missed.map((question) => `  ${question}`).join("\n")}\n`)
})

const program = Effect.gen(function* () {
  const directory = yield* temporary
  const Foundations = Layer.mergeAll(KnowledgeChanges.layer, DueCheck.layer, PassagesRepo.layer).pipe(
    Layer.provideMerge(NodeLease.layer),
    Layer.provideMerge(Database.layer),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_DATA_DIR", directory]]))))
  )
  yield* Effect.gen(function* () {
    const seeded = yield* seed
    yield* Effect.provide(measure(seeded), searchWith(undefined)).pipe(
      Effect.flatMap((figures) => show("Look-ups by words among 50,000 passages", figures))
    )
    yield* Console.error("making 50,000 vectors …")
    const provider = Context.get(yield* Layer.build(HashedEmbedding), Embedding)
    const figures = yield* Effect.gen(function* () {
      const took = yield* millis(embedded)
      return { took, ...(yield* measure(seeded)) }
    }).pipe(Effect.provide(searchWith(provider)))
    yield* show("Look-ups by words and vectors of 256 numbers among 50,000 passages", figures)
    const indexed = seeded.large.map(({ took }) => took)
    const storing: ReadonlyArray<Line> = [
      { what: "storing and indexing 2,000 passages", figure: quantile(indexed, 0.5), unit: "ms" },
      { what: "making and storing the vectors of 1,000 passages", figure: figures.took / 50, unit: "ms" }
    ]
    yield* Console.log(table("Storing", storing))
  }).pipe(Effect.provide(Foundations))
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
