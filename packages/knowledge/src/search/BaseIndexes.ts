import { yieldThread } from "@svc/api/JsonLimits"
import { Context, Effect, Layer } from "effect"
import { BaseIndex } from "./BaseIndex.ts"
import { BoundedMemory } from "./BoundedMemory.ts"
import { SearchRepo } from "./SearchRepo.ts"
import { sharedWork } from "./SharedWork.ts"
import type { TrigramIndex } from "./TrigramIndex.ts"

/** A base, and the version of its index. */
export interface IndexVersion {
  readonly id: number
  readonly version: number
}

/** Memory for the indexes of a process. A base of 2,000 passages takes about 1 MB. */
const maxBytes = 128 * 1024 * 1024
/** Bases of one search that are read at once. */
const readAtOnce = 4

/**
 * The indexes of bases that were searched last, in memory. An index is read again when its base has another version, also
 * one that another node has made. Searches that need the same one wait for one reading.
 */
export class BaseIndexes extends Context.Tag("@svc/knowledge/BaseIndexes")<
  BaseIndexes,
  {
    /** By the id of the base. A base that was deleted meanwhile is missing. */
    readonly get: (bases: ReadonlyArray<IndexVersion>) => Effect.Effect<ReadonlyMap<number, BaseIndex>>
    /** The trigrams of an index, which are made when they are needed first. */
    readonly trigrams: (id: number, index: BaseIndex) => Effect.Effect<TrigramIndex>
  }
>() {
  static readonly layer: Layer.Layer<BaseIndexes, never, SearchRepo> = Layer.scoped(
    BaseIndexes,
    Effect.gen(function* () {
      const repo = yield* SearchRepo
      const memory = new BoundedMemory<number, BaseIndex>(maxBytes)
      const reading = yield* sharedWork<BaseIndex | undefined>()
      const making = yield* sharedWork<TrigramIndex>()

      const read = (id: number) =>
        Effect.gen(function* () {
          const row = yield* repo.index(id)
          if (row === undefined) return undefined
          yield* yieldThread
          const index = new BaseIndex(row)
          memory.set(id, index)
          return index
        })

      const make = (id: number, index: BaseIndex) =>
        Effect.gen(function* () {
          const steps = index.makeTrigrams()
          let step = steps.next()
          while (step.done !== true) {
            yield* yieldThread
            step = steps.next()
          }
          if (memory.get(id) === index) memory.set(id, index)
          return step.value
        })

      return {
        get: (bases) =>
          Effect.map(
            Effect.forEach(
              bases,
              ({ id, version }) => {
                const kept = memory.get(id)
                return kept?.version === version
                  ? Effect.succeed([id, kept] as const)
                  : Effect.map(reading(`${id} ${version}`, read(id)), (index) => [id, index] as const)
              },
              { concurrency: readAtOnce }
            ),
            (found) => new Map(found.flatMap(([id, index]) => (index === undefined ? [] : [[id, index] as const])))
          ),
        trigrams: (id, index) =>
          index.trigrams === undefined
            ? making(`${id} ${index.version}`, make(id, index))
            : Effect.succeed(index.trigrams)
      }
    })
  )
}
