import { yieldThread } from "@svc/api/JsonLimits"
import { Context, Data, Duration, Effect, Layer } from "effect"
import { cutTo } from "../PassageCutter.ts"
import { BoundedMemory } from "../search/BoundedMemory.ts"
import type { Place } from "../search/Ranking.ts"
import { sharedWork } from "../search/SharedWork.ts"
import { EmbeddingModel } from "./EmbeddingModel.ts"
import { type BaseCodes, codeBytes, cosine, nearest, unitVector } from "./VectorCodes.ts"
import { VectorsRepo } from "./VectorsRepo.ts"

/** The vectors were not searched. The reason is a sentence without a full stop. */
export class VectorsFailed extends Data.TaggedError("VectorsFailed")<{ readonly reason: string }> {}

/** A base, and the versions of its index and of its vectors. */
export interface VectorVersion {
  readonly id: number
  readonly version: number
  /** 0 when it has none. */
  readonly vectors: number
}

interface KeptCodes extends BaseCodes {
  readonly bytes: number
  readonly version: string
}

/** Memory for codes. Those of a base of 2,000 passages and a model of 1,536 dimensions take 0.4 MB. */
const maxBytes = 64 * 1024 * 1024
/** Bases of one search whose codes are read at once. */
const readAtOnce = 4
/** Bytes of vectors that are compared exactly, at least and at most so many vectors. */
const exact = { bytes: 64 * 1024, least: 40, most: 200 } as const
/** Passages of the ranking. */
const ranked = 20
/** Texts whose vectors are less alike have nothing to do with each other. */
const leastCosine = 0.2

/**
 * Ranks passages by how near their vectors are to that of a question. The codes of all passages are compared first, in
 * memory; then the vectors of the nearest ones, which are read from the database.
 */
export class VectorSearch extends Context.Tag("@svc/knowledge/VectorSearch")<
  VectorSearch,
  {
    /** The id of the model whose vectors are searched; undefined when no plugin has one, and nothing is ever found. */
    readonly modelId: number | undefined
    /** The vector of a question. */
    readonly embed: (question: string, within: Duration.Duration) => Effect.Effect<Float32Array, VectorsFailed>
    /** The nearest passages, best first. */
    readonly rank: (query: Float32Array, bases: ReadonlyArray<VectorVersion>) => Effect.Effect<ReadonlyArray<Place>>
    /** Reads the codes of bases, so that the next search does not have to. */
    readonly prepare: (bases: ReadonlyArray<VectorVersion>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<VectorSearch, never, EmbeddingModel | VectorsRepo> = Layer.scoped(
    VectorSearch,
    Effect.gen(function* () {
      const model = yield* EmbeddingModel
      const repo = yield* VectorsRepo
      if (model === undefined) {
        return {
          modelId: undefined,
          embed: () => new VectorsFailed({ reason: "no plugin provides embedding" }),
          rank: () => Effect.succeed([]),
          prepare: () => Effect.void
        }
      }
      const { id: modelId, provider } = model
      const memory = new BoundedMemory<number, KeptCodes>(maxBytes)
      const reading = yield* sharedWork<KeptCodes>()
      const size = codeBytes(provider.dimensions)

      const read = (base_id: number, version: string) =>
        Effect.map(repo.codes(base_id, modelId), ({ codes, positions: pairs }): KeptCodes => {
          const positions = new Uint16Array(pairs.length / 2)
          for (let row = 0; row < positions.length; row++) {
            positions[row] = ((pairs[2 * row] ?? 0) << 8) | (pairs[2 * row + 1] ?? 0)
          }
          // Another length would be of another model.
          const isWhole = codes.length === positions.length * size
          const kept = isWhole
            ? { base_id, version, positions, codes, bytes: 500 + pairs.length + codes.length }
            : { base_id, version, positions: new Uint16Array(0), codes: new Uint8Array(0), bytes: 500 }
          memory.set(base_id, kept)
          return kept
        })

      const codesOf = (bases: ReadonlyArray<VectorVersion>) =>
        Effect.forEach(
          bases.filter(({ vectors }) => vectors > 0),
          ({ id, vectors, version }) => {
            const wanted = `${version} ${vectors}`
            const kept = memory.get(id)
            return kept?.version === wanted ? Effect.succeed(kept) : reading(`${id} ${wanted}`, read(id, wanted))
          },
          { concurrency: readAtOnce }
        )

      const embed = (question: string, within: Duration.Duration) => {
        const text = cutTo(question.trim(), provider.limits.characters)
        if (text === "") return new VectorsFailed({ reason: "the question is empty" })
        return Effect.suspend(() => provider.embed([text], "query")).pipe(
          // A provider that does not stop at once must not hold up the call.
          Effect.disconnect,
          Effect.timeoutFail({
            duration: within,
            onTimeout: () =>
              new VectorsFailed({
                reason: `${provider.id} did not embed the question within ${Duration.format(within)}`
              })
          }),
          Effect.catchTag("EmbeddingError", ({ reason }) => new VectorsFailed({ reason })),
          Effect.flatMap(([vector]) => {
            const unit = vector?.length === provider.dimensions ? unitVector(vector) : undefined
            return unit === undefined
              ? new VectorsFailed({ reason: `${provider.id} answered an invalid vector` })
              : Effect.succeed(unit)
          }),
          Effect.catchAllDefect((defect) => new VectorsFailed({ reason: `${provider.id} failed: ${String(defect)}` }))
        )
      }

      const candidates = Math.min(
        exact.most,
        Math.max(exact.least, Math.floor(exact.bytes / (4 * provider.dimensions)))
      )

      const rank = Effect.fnUntraced(function* (query: Float32Array, bases: ReadonlyArray<VectorVersion>) {
        const steps = nearest(query, yield* codesOf(bases), candidates)
        let step = steps.next()
        while (step.done !== true) {
          yield* yieldThread
          step = steps.next()
        }
        const rows = yield* repo.vectors(modelId, step.value)
        return rows
          .flatMap(({ base_id, position, vector }) => {
            const score = vector.length === 4 * query.length ? cosine(query, vector) : 0
            return score >= leastCosine ? [{ base_id, position, score }] : []
          })
          .sort((a, b) => b.score - a.score || a.base_id - b.base_id || a.position - b.position)
          .slice(0, ranked)
      })

      return { modelId, embed, rank, prepare: (bases) => Effect.asVoid(codesOf(bases)) }
    })
  )
}
