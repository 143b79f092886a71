import { Embedding, EmbeddingError } from "@svc/providers/Embedding"
import { PluginError } from "@svc/providers/Plugin"
import { RequestFailed } from "@svc/providers/RequestFailed"
import { type Context, Duration, Effect, Option, Schema } from "effect"
import type { ModelList } from "./ModelList.ts"
import type { OpenAiClient } from "./OpenAiClient.ts"

const retryWithin = Duration.seconds(20)
/** Together at most 300,000 tokens, the limit of a request, and a batch that small servers take. */
const limits = { texts: 32, characters: 8000 }

/** The dimensions of OpenAI's models. Those of others are asked for. */
const knownDimensions: ReadonlyMap<string, number> = new Map([
  ["text-embedding-3-small", 1536],
  ["text-embedding-3-large", 3072],
  ["text-embedding-ada-002", 1536]
])

const Answer = Schema.Struct({
  data: Schema.Array(Schema.Struct({ index: Schema.optional(Schema.Int), embedding: Schema.Array(Schema.Number) }))
})
const decodeAnswer = Schema.decodeUnknownOption(Answer)

const failed = (reason: string) => new RequestFailed({ reason, retryable: true })

/**
 * Embeddings by `/embeddings`. Fails when the dimensions of a model are not known and its server does not say them: they
 * are declared once, and vectors that are stored already depend on them.
 */
export const make = (options: {
  readonly client: OpenAiClient
  readonly list: ModelList
  readonly model: string
}): Effect.Effect<Context.Tag.Service<Embedding>, PluginError> =>
  Effect.gen(function* () {
    const { client, list, model } = options

    const request = (texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Float32Array>, RequestFailed> => {
      const body = JSON.stringify({ model, input: texts.map((text) => text.toWellFormed()) })
      return client
        .json({ method: "POST", path: "/embeddings", contentType: "application/json", body, retryWithin })
        .pipe(
          Effect.flatMap((json) => {
            const answer = decodeAnswer(json)
            if (Option.isNone(answer)) return failed("the answer has no embeddings")
            const { data } = answer.value
            // In the order of the texts, which the index says.
            const vectors = texts.map((_, n) => (data.find(({ index }) => index === n) ?? data[n])?.embedding)
            return vectors.every((vector) => vector !== undefined)
              ? Effect.succeed(vectors.map((vector) => Float32Array.from(vector)))
              : failed(`the answer has ${data.length} embeddings for ${texts.length} texts`)
          })
        )
    }

    const known = knownDimensions.get(model)
    const asked = known === undefined ? request(["dimensions"]) : Effect.succeed([])
    const [first] = yield* asked.pipe(
      Effect.mapError(
        ({ reason }) =>
          new PluginError({
            plugin: "openai",
            reason: `the dimensions of SVC_OPENAI_EMBEDDING_MODEL "${model}" are not known: ${reason}`
          })
      )
    )
    const dimensions = known ?? first?.length ?? 0

    return Embedding.of({
      id: "openai",
      model: `openai/${model}`,
      dimensions,
      limits,
      health: list.health,
      embed: (texts) =>
        (texts.length === 0 ? Effect.succeed([]) : request(texts)).pipe(
          Effect.flatMap((vectors) =>
            vectors.every(({ length }) => length === dimensions)
              ? Effect.succeed(vectors)
              : failed(`an embedding has not the ${dimensions} dimensions of its model`)
          ),
          Effect.mapError(({ reason, retryable }) => new EmbeddingError({ reason, retryable }))
        )
    })
  })
