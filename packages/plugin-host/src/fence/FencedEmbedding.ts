import { type Embedding, EmbeddingError } from "@svc/providers/Embedding"
import { type Context, Duration, Effect } from "effect"
import { runIsolated } from "./IsolatedFiber.ts"
import { embedding, vectors } from "./ModelShapes.ts"
import { makeCircuit, throughCircuit } from "./ProviderCircuit.ts"
import { problemOf } from "./Shapes.ts"

type Service = Context.Tag.Service<Embedding>

/** How long a provider may take to embed a batch. A caller that has less time interrupts it. */
export const embedDeadline = Duration.seconds(30)

/**
 * A fenced embedding provider: timeouts, throws, defects and invalid vectors become `EmbeddingError`, and failures open
 * a circuit breaker. Dies at once when the provider declares something invalid.
 */
export const fencedEmbedding = Effect.fnUntraced(function* (provider: Service) {
  const wrong = problemOf(embedding, provider)
  if (wrong !== undefined) return yield* Effect.dieMessage(wrong)
  const circuit = yield* makeCircuit("embedding")
  const { dimensions, id, model } = provider
  const { characters, texts } = provider.limits
  const failed = (reason: string) => new EmbeddingError({ reason: `${id}: ${reason}`, retryable: true })

  const embed: Service["embed"] = (batch, purpose) =>
    runIsolated(() => circuit.logs(provider.embed(batch, purpose)), failed).pipe(
      Effect.timeoutFail({
        duration: embedDeadline,
        onTimeout: () => failed(`did not answer within ${Duration.format(embedDeadline)}`)
      }),
      Effect.flatMap((answer) => {
        const problem = problemOf(vectors(batch.length, dimensions), answer)
        return problem === undefined ? Effect.succeed(answer) : failed(`answered something invalid: ${problem}`)
      }),
      throughCircuit(circuit, failed)
    )

  return {
    id,
    model,
    dimensions,
    limits: { texts, characters },
    health: circuit.health(Effect.suspend(() => provider.health)),
    embed
  } satisfies Service
})
