import { expect, it } from "@effect/vitest"
import { Embedding } from "@svc/providers/Embedding"
import { Effect } from "effect"
import { HashedEmbedding } from "../src/HashedEmbedding.ts"

it.live("the simulated embedding lets timers run between two texts", () =>
  Effect.gen(function* () {
    const { embed } = yield* Embedding
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const vectors = yield* embed(
      Array.from({ length: 10 }, (_, index) => `text ${index}`),
      "passage"
    )
    clearInterval(timer)
    expect(vectors).toHaveLength(10)
    expect(turns).toBeGreaterThanOrEqual(3)
  }).pipe(Effect.provide(HashedEmbedding))
)
