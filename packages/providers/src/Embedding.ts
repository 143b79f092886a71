import { Context, Data, type Effect } from "effect"
import type { Health } from "./Health.ts"

export class EmbeddingError extends Data.TaggedError("EmbeddingError")<{
  readonly reason: string
  /** Whether another attempt may work. */
  readonly retryable: boolean
}> {
  override get message(): string {
    return this.reason
  }
}

/** What a text is: some models embed what is searched and what is searched for differently. */
export type EmbeddingPurpose = "passage" | "query"

/** Turns texts into vectors, so that texts of similar meaning have similar directions. */
export class Embedding extends Context.Tag("@svc/providers/Embedding")<
  Embedding,
  {
    readonly id: string
    /**
     * Names the model and everything else that changes its vectors. The platform stores it with each vector: vectors of
     * different models are never compared, and a new name makes the platform embed all passages again.
     */
    readonly model: string
    /** How many numbers a vector has: 1 to 4,096. */
    readonly dimensions: number
    readonly limits: {
      /** How many texts one request may have. */
      readonly texts: number
      /** How many UTF-16 code units each text may have. The platform cuts longer ones. */
      readonly characters: number
    }
    readonly health: Effect.Effect<Health>
    /**
     * One vector for each text, in the same order. No text is blank. A vector has finite numbers, not all of them 0; its
     * length does not matter. Interruption stops it within 50 ms.
     */
    readonly embed: (
      texts: ReadonlyArray<string>,
      purpose: EmbeddingPurpose
    ) => Effect.Effect<ReadonlyArray<Float32Array>, EmbeddingError>
  }
>() {}
