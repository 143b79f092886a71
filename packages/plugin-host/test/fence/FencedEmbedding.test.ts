import { expect, it } from "@effect/vitest"
import { EmbeddingError } from "@svc/providers/Embedding"
import { Effect, Exit, Fiber, TestClock } from "effect"
import { describe } from "vitest"
import { fencedEmbedding } from "../../src/fence/FencedEmbedding.ts"
import { invalid } from "../fixtures/Invalid.ts"
import { embedding } from "../fixtures/Parts.ts"

type Embed = (typeof embedding)["embed"]

const fenced = (embed: Embed) => fencedEmbedding({ ...embedding, embed })
const errorOf = (embed: Embed) =>
  Effect.flatMap(fenced(embed), (provider) => Effect.flip(provider.embed(["a", "b"], "query")))

describe("a fenced embedding provider", () => {
  it.effect("passes texts, purpose and vectors on", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const provider = yield* fenced((texts, purpose) => {
        asked.push([texts, purpose])
        return Effect.succeed(texts.map((_, n) => Float32Array.of(n, 1)))
      })
      expect(yield* provider.embed(["a", "b"], "query")).toEqual([Float32Array.of(0, 1), Float32Array.of(1, 1)])
      expect(asked).toEqual([[["a", "b"], "query"]])
      expect(provider).toMatchObject({ id: "silent", model: "silent-1", dimensions: 2, limits: { texts: 2 } })
    })
  )

  it.effect("that throws, dies, hangs or fails with something else fails with EmbeddingError", () =>
    Effect.gen(function* () {
      const boom = (): never => {
        throw new Error("boom")
      }
      for (const embed of [boom, () => Effect.die(new Error("boom")), () => Effect.fail(invalid<EmbeddingError>(5))]) {
        const error = yield* errorOf(embed)
        expect(error).toBeInstanceOf(EmbeddingError)
        expect(error.reason).toMatch(/^silent: crashed: /)
      }
      const hanging = yield* Effect.fork(errorOf(() => Effect.never))
      yield* TestClock.adjust("30 seconds")
      expect((yield* Fiber.join(hanging)).reason).toBe("silent: did not answer within 30s")
    })
  )

  it.effect("that answers something else than a valid vector for each text fails", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<readonly [unknown, string]> = [
        [undefined, "the vectors must be an array of 2, not undefined"],
        [[Float32Array.of(1, 0)], "the vectors must be an array of 2, not 1"],
        [
          [
            [1, 0],
            [1, 0]
          ],
          "a vector must be a Float32Array, not an array"
        ],
        [[Float32Array.of(1, 0), Float32Array.of(1)], "a vector must have 2 numbers, not 1"],
        [[Float32Array.of(1, 0), Float32Array.of(1, Number.NaN)], "a vector has a number that is not finite"],
        [[Float32Array.of(1, 0), Float32Array.of(0, 0)], "a vector has only zeros"]
      ]
      for (const [answer, reason] of answers) {
        const error = yield* errorOf(() => Effect.succeed(invalid<ReadonlyArray<Float32Array>>(answer)))
        expect(error.reason).toBe(`silent: answered something invalid: ${reason}`)
      }
    })
  )

  it.effect("is refused when it declares something invalid", () =>
    Effect.gen(function* () {
      for (const declared of [
        { model: "" },
        { model: invalid<string>(undefined) },
        { dimensions: 0 },
        { dimensions: 5000 },
        { limits: { texts: 0, characters: 100 } },
        { limits: invalid<(typeof embedding)["limits"]>(undefined) }
      ]) {
        expect(Exit.isFailure(yield* Effect.exit(fencedEmbedding({ ...embedding, ...declared })))).toBe(true)
      }
    })
  )

  it.effect("opens its circuit breaker after five failures, and is unhealthy then", () =>
    Effect.gen(function* () {
      let requests = 0
      const provider = yield* fenced(() => {
        requests++
        return new EmbeddingError({ reason: "HTTP 500", retryable: true })
      })
      for (let n = 0; n < 6; n++) yield* Effect.flip(provider.embed(["a"], "passage"))
      expect(requests).toBe(5)
      expect(yield* provider.health).toMatchObject({ healthy: false })
    })
  )
})
