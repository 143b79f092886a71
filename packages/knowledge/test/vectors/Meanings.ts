import { type Embedding, EmbeddingError, type EmbeddingPurpose } from "@svc/providers/Embedding"
import { healthy } from "@svc/providers/Health"
import { type Context, Effect } from "effect"

type Service = Context.Tag.Service<Embedding>

/** Words of one meaning: each is a dimension of the vectors. */
const meanings = [
  ["car", "automobile", "vehicle"],
  ["doctor", "physician"],
  ["dog", "hound", "puppy"],
  ["house", "home"],
  ["money", "cash"],
  ["rain", "downpour"],
  ["book", "novel"]
]

/** The vector of a text by the meanings of its words; the last dimension is for texts without any. */
export const meaningOf = (text: string, dimensions = 8): Float32Array => {
  const vector = new Float32Array(dimensions).fill(-0.1)
  for (const [dimension, words] of meanings.entries()) {
    for (const word of words) if (text.toLowerCase().includes(word)) vector[dimension] = 1
  }
  if (vector.every((value) => value < 0)) vector[dimensions - 1] = 1
  return vector
}

/** How a provider answers a request: the vectors, or undefined for the right ones. */
type Behaviour = (
  texts: ReadonlyArray<string>,
  purpose: EmbeddingPurpose
) => Effect.Effect<ReadonlyArray<Float32Array>, EmbeddingError> | undefined

/** A provider that knows what words mean, and the texts that it was asked for, by request. */
export const meaningProvider = (behaviour: Behaviour = () => undefined, rest: Partial<Service> = {}) => {
  const requests: Array<ReadonlyArray<string>> = []
  const dimensions = rest.dimensions ?? 8
  const provider: Service = {
    id: "meanings",
    model: "meanings-1",
    dimensions,
    limits: { texts: 4, characters: 200 },
    health: Effect.succeed(healthy),
    embed: (texts, purpose) =>
      Effect.suspend(() => {
        if (purpose === "passage") requests.push(texts)
        return behaviour(texts, purpose) ?? Effect.succeed(texts.map((text) => meaningOf(text, dimensions)))
      }),
    ...rest
  }
  return { provider, requests }
}

export const fails = (reason: string, retryable = true) => Effect.fail(new EmbeddingError({ reason, retryable }))
