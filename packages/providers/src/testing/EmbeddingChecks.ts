import { Effect, Fiber } from "effect"
import { Embedding, EmbeddingError, type EmbeddingPurpose } from "../Embedding.ts"
import { type Check, CheckFailed, type CheckOptions, makeHarness, must, mustSucceed } from "./Check.ts"
import { mustNotLeak } from "./Leaks.ts"

type Service = typeof Embedding.Service

export interface EmbeddingCheckOptions extends CheckOptions<Embedding> {
  /** Three texts, of which the model must place the first two nearer to each other than to the third. */
  readonly near?: readonly [string, string, string]
}

const purposes: ReadonlyArray<EmbeddingPurpose> = ["passage", "query"]

const english = [
  "The shop opens at nine in the morning",
  "The shop opens at ten in the morning",
  "Elephants swim quietly across wide rivers"
] as const

/** The cosine of the angle between two vectors. */
const cosine = (a: Float32Array, b: Float32Array): number => {
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

/** Vectors of a text differ by rounding at most. */
const isSame = (a: Float32Array | undefined, b: Float32Array | undefined) =>
  a !== undefined && b !== undefined && cosine(a, b) > 0.999

/** The requirements on an embedding provider. */
export const embeddingChecks = (options: EmbeddingCheckOptions): ReadonlyArray<Check> => {
  const harness = makeHarness(Embedding, options)
  const { check, fault, mustFail, quiet, within } = harness
  const [one, like, unlike] = options.near ?? english

  const ask = (service: Service, texts: ReadonlyArray<string>, purpose: EmbeddingPurpose = "passage") =>
    Effect.suspend(() => service.embed(texts, purpose))

  /** The vectors of the texts, each of which must be valid. */
  const embed = (service: Service, texts: ReadonlyArray<string>, purpose: EmbeddingPurpose = "passage") =>
    Effect.gen(function* () {
      const vectors = yield* within("embed", ask(service, texts, purpose)).pipe(mustSucceed("embed"))
      yield* must(vectors.length === texts.length, `it returned ${vectors.length} vectors for ${texts.length} texts`)
      for (const vector of vectors) {
        yield* must(vector instanceof Float32Array, "a vector is not a Float32Array")
        yield* must(
          vector.length === service.dimensions,
          `a vector has ${vector.length} numbers instead of ${service.dimensions}`
        )
        yield* must(vector.every(Number.isFinite), "a vector has a number that is not finite")
        yield* must(
          vector.some((value) => value !== 0),
          "a vector has only zeros"
        )
      }
      return vectors
    })
  /** Fails unless each text has the vector that it has alone. */
  const mustMatch = (service: Service, texts: ReadonlyArray<string>, vectors: ReadonlyArray<Float32Array>) =>
    Effect.forEach(texts, (text, index) =>
      Effect.flatMap(embed(service, [text]), ([alone]) =>
        must(isSame(alone, vectors[index]), `text ${index} of ${texts.length} has another vector than alone`)
      )
    )
  const failsTyped = (service: Service) =>
    mustFail("embed", ask(service, [one]), (error) => error instanceof EmbeddingError)

  return [
    check("declares its model, dimensions and limits, and is healthy", (service) =>
      Effect.gen(function* () {
        yield* must(service.model.trim() !== "", "its model has no name")
        const { dimensions, limits } = service
        yield* must(
          Number.isInteger(dimensions) && dimensions >= 1 && dimensions <= 4096,
          `its dimensions are ${dimensions}, which is not a whole number from 1 to 4096`
        )
        for (const [name, limit] of Object.entries(limits)) {
          yield* must(Number.isInteger(limit) && limit >= 1, `its limit of ${name} is ${limit}`)
        }
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("embed returns a vector for each text in the order of the texts", (service) =>
      Effect.gen(function* () {
        const texts = [unlike, one, like].slice(0, service.limits.texts)
        for (const purpose of purposes) yield* embed(service, texts, purpose)
        yield* mustMatch(service, texts, yield* embed(service, texts))
      })
    ),
    check("embed returns the same vector for the same text", (service) =>
      Effect.gen(function* () {
        for (const purpose of purposes) {
          const [first] = yield* embed(service, [one], purpose)
          const [second] = yield* embed(service, [one], purpose)
          yield* must(isSame(first, second), `a ${purpose} that was embedded twice has two vectors`)
        }
      })
    ),
    check("embed places similar texts nearer to each other than others", (service) =>
      Effect.gen(function* () {
        const [a] = yield* embed(service, [one], "query")
        const [b] = yield* embed(service, [like])
        const [c] = yield* embed(service, [unlike])
        if (a === undefined || b === undefined || c === undefined) {
          return yield* new CheckFailed({ reason: "it returned no vector" })
        }
        yield* must(cosine(a, b) > cosine(a, c), `"${one}" is nearer to "${unlike}" than to "${like}"`)
      })
    ),
    check("embed accepts texts in every script, and as many and as long ones as its limits allow", (service) =>
      Effect.gen(function* () {
        for (const text of ["Öffnungszeiten: 9–17 Uhr", "Ωμέγα", "日本語", "😀", "7", "\u0000\ud800"]) {
          yield* embed(service, [text])
        }
        const { characters, texts } = service.limits
        // Enough to find a limit that is declared too high, and small enough for a check.
        const length = Math.min(characters, 100_000)
        yield* embed(service, [one.repeat(Math.ceil(length / one.length)).slice(0, length)])
        const many = Array.from({ length: Math.min(texts, 2000) }, (_, n) => `${one} ${n}`)
        yield* embed(service, many)
      })
    ),
    check("embed of no texts returns no vectors", (service) => Effect.asVoid(embed(service, []))),
    check("embed keeps concurrent requests separate", (service) =>
      Effect.gen(function* () {
        const texts = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? one : unlike))
        const vectors = yield* Effect.forEach(texts, (text) => embed(service, [text]), { concurrency: "unbounded" })
        yield* mustMatch(service, texts, vectors.flat())
      })
    ),
    check("embed does not change vectors that it has returned", (service) =>
      Effect.gen(function* () {
        const [vector] = yield* embed(service, [one])
        const copy = vector?.slice()
        yield* embed(service, [unlike])
        yield* must(isSame(vector, copy), "a later request changed the vector of an earlier one")
      })
    ),
    check("many interrupted requests leave no fibers, timers or sockets behind", (service) =>
      mustNotLeak(
        harness,
        options,
        Effect.gen(function* () {
          const fiber = yield* Effect.forkDaemon(ask(service, [one]))
          yield* Effect.yieldNow()
          yield* within("interrupting embed", Fiber.interrupt(fiber))
        })
      )
    ),
    ...fault(options.faults?.refuses, "embed fails with EmbeddingError when the peer refuses", failsTyped),
    ...fault(options.faults?.hangs, "embed can be interrupted when the peer hangs", (service) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkDaemon(ask(service, [one]))
        yield* quiet
        yield* within("interrupting embed", Fiber.interrupt(fiber))
      })
    ),
    ...fault(
      options.faults?.closesEarly,
      "embed fails with EmbeddingError when the peer closes the connection early",
      failsTyped
    ),
    ...fault(
      options.faults?.sendsGarbage,
      "embed fails with EmbeddingError when the peer sends malformed data",
      failsTyped
    )
  ]
}
