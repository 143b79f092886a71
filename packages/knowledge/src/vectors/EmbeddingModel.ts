import type { Embedding } from "@svc/providers/Embedding"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer } from "effect"
import { VectorsRepo } from "./VectorsRepo.ts"

/** The embedding provider of the loaded plugins, with the id of its model in the database; undefined without one. */
export class EmbeddingModel extends Context.Tag("@svc/knowledge/EmbeddingModel")<
  EmbeddingModel,
  { readonly id: number; readonly provider: Context.Tag.Service<Embedding> } | undefined
>() {
  static readonly layer: Layer.Layer<EmbeddingModel, never, Providers | VectorsRepo> = Layer.effect(
    EmbeddingModel,
    Effect.gen(function* () {
      const { embedding: provider } = yield* Providers
      if (provider === undefined) return undefined
      return { id: yield* (yield* VectorsRepo).register(provider), provider }
    })
  )
}
