import { expect, it } from "@effect/vitest"
import { KnowledgeBaseCreate } from "@svc/api/knowledge/KnowledgeBase"
import { TestDatabase } from "@svc/database/TestDatabase"
import type { EmbeddingPurpose } from "@svc/providers/Embedding"
import { Context, Deferred, Duration, Effect, Fiber, Layer, Option, Schema, TestClock } from "effect"
import { Knowledge } from "../../src/Knowledge.ts"
import { KnowledgeSearch } from "../../src/KnowledgeSearch.ts"
import { bytesOf, codeOf } from "../../src/vectors/VectorCodes.ts"
import { VectorsRepo } from "../../src/vectors/VectorsRepo.ts"
import { owner, servicesWith } from "../Fixture.ts"
import { fails, meaningOf, meaningProvider } from "./Meanings.ts"

/** A base whose passages have vectors, and the search in it. */
const searched = (question: Parameters<typeof meaningProvider>[0], ...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const asked: Array<EmbeddingPurpose> = []
    const { provider } = meaningProvider((all, purpose) => {
      asked.push(purpose)
      return question?.(all, purpose)
    })
    const context = yield* Layer.build(Layer.fresh(servicesWith(provider)))
    const by = yield* Effect.provide(owner, context)
    const entries = texts.map((answer, n) => ({ question: `Part ${n}`, answer }))
    const body = yield* Schema.decodeUnknown(KnowledgeBaseCreate)({ name: "B", entries })
    const { id } = yield* Context.get(context, Knowledge).create(by, body)
    const repo = Context.get(context, VectorsRepo)
    const claimed = Option.getOrThrow(yield* repo.claim(yield* repo.register(provider), "node_1"))
    const missing = yield* repo.missing(claimed, -1, 100)
    const unit = (text: string) => {
      const vector = meaningOf(text)
      const length = Math.hypot(...vector)
      return vector.map((value) => value / length)
    }
    yield* repo.store(
      claimed,
      missing.map(({ content_hash, text }) => ({
        content_hash,
        code: codeOf(unit(text)),
        vector: bytesOf(unit(text))
      }))
    )
    const { search } = Context.get(context, KnowledgeSearch)
    const find = (text: string, patience?: Duration.Duration) =>
      Effect.map(search({ base_ids: [id] }, text, 3, patience), ({ passages, without_vectors }) => ({
        texts: passages.map((passage) => passage.text),
        without_vectors
      }))
    return { asked, find }
  })

const test = (name: string, run: Effect.Effect<void, unknown, Effect.Effect.Context<ReturnType<typeof searched>>>) =>
  it.scoped(name, () => Effect.provide(run, TestDatabase.layer))

/** The result of a search that does not end before the clock has gone on for so long. */
const after = <A, E>(millis: number, work: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(work)
    yield* Effect.yieldNow()
    yield* TestClock.adjust(Duration.millis(millis - 1))
    expect(yield* Fiber.poll(fiber)).toEqual(Option.none())
    yield* TestClock.adjust("1 millis")
    return yield* Fiber.join(fiber)
  })

const texts = ["Take the automobile.", "Ask a physician.", "Feed the hound.", "We sell hats."]

test(
  "a search finds passages by their meaning, those with the words of the question first, and none that are unlike",
  Effect.gen(function* () {
    const { asked, find } = yield* searched(undefined, ...texts)
    expect(yield* find("Is there a puppy?")).toEqual({ texts: ["Feed the hound."], without_vectors: null })
    expect((yield* find("hats for a dog")).texts).toEqual(["We sell hats.", "Feed the hound."])
    expect((yield* find("hound, vehicle")).texts[0]).toBe("Feed the hound.")
    expect(new Set(asked)).toEqual(new Set(["query"]))
    // Neither a meaning nor a word is known.
    expect(yield* find("   ")).toEqual({ texts: [], without_vectors: "the question is empty" })
  })
)

test(
  "a search by words only says why when the question gets no vector",
  Effect.gen(function* () {
    for (const [answer, reason] of [
      [() => fails("quota exceeded", false), "quota exceeded"],
      [() => Effect.die(new Error("bug")), "meanings failed: Error: bug"],
      [() => Effect.succeed([]), "meanings answered an invalid vector"],
      [() => Effect.succeed([new Float32Array(8)]), "meanings answered an invalid vector"],
      [() => Effect.succeed([new Float32Array(8).fill(Number.NaN)]), "meanings answered an invalid vector"],
      [() => Effect.succeed([Float32Array.of(1, 2)]), "meanings answered an invalid vector"]
    ] as const) {
      const { find } = yield* searched(answer, ...texts)
      expect(yield* find("the automobile")).toEqual({ texts: ["Take the automobile."], without_vectors: reason })
    }
  })
)

test(
  "a search waits 100 ms for the vector of the question, or for as long as it is told, also when the provider ignores interruption",
  Effect.gen(function* () {
    const gate = yield* Deferred.make<ReadonlyArray<Float32Array>>()
    const { find } = yield* searched(() => Effect.uninterruptible(Deferred.await(gate)), ...texts)
    const late = (within: string) => ({
      texts: ["Take the automobile."],
      without_vectors: `meanings did not embed the question within ${within}`
    })
    expect(yield* after(100, find("the automobile"))).toEqual(late("100ms"))
    expect(yield* after(1000, find("the automobile", Duration.seconds(1)))).toEqual(late("1s"))
    yield* Deferred.succeed(gate, [])
  })
)

test(
  "a question is not waited for when no base has vectors",
  Effect.gen(function* () {
    const { provider } = meaningProvider(() => Effect.never)
    const context = yield* Layer.build(Layer.fresh(servicesWith(provider)))
    const by = yield* Effect.provide(owner, context)
    const body = yield* Schema.decodeUnknown(KnowledgeBaseCreate)({ name: "B", content: "Take the automobile." })
    const { id } = yield* Context.get(context, Knowledge).create(by, body)
    const { search } = Context.get(context, KnowledgeSearch)
    // The clock stands still.
    expect((yield* search({ base_ids: [id] }, "automobile", 3)).passages).toHaveLength(1)
  })
)
