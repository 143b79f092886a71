import { type LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { apart } from "./Apart.ts"
import { makeCircuit } from "./Circuit.ts"
import { fencedCall } from "./FencedCall.ts"
import { watch } from "./Watch.ts"

type Service = Context.Tag.Service<LanguageModel>

/** How long a model may be silent, before its first delta and between two, in milliseconds. */
export const modelIdleMs = 20_000

/**
 * A language model behind a fence: silence beyond the deadline, throws and defects become `LanguageModelError`; failures open a
 * circuit breaker; no delta passes after the end or the interruption of its request.
 */
export const fencedLanguageModel = Effect.fnUntraced(function* (model: Service) {
  const circuit = yield* makeCircuit
  const failed = (reason: string) => new LanguageModelError({ reason: `${model.id}: ${reason}`, retryable: true })

  const generate: Service["generate"] = (request, onDelta) =>
    Effect.suspend(() => {
      let live = true
      let seen = circuit.now()
      const inner = () =>
        model.generate(request, (delta) => {
          if (!live) return
          seen = circuit.now()
          onDelta(delta)
        })
      return apart(inner, failed).pipe(
        Effect.raceFirst(
          watch(
            () => seen,
            modelIdleMs,
            () => failed(`said nothing for ${modelIdleMs / 1000} s`)
          )
        ),
        Effect.onExit(() =>
          Effect.sync(() => {
            live = false
          })
        ),
        fencedCall(circuit, failed)
      )
    })

  // Field by field, because a service may be an instance of a class, whose methods a spread would lose.
  return {
    id: model.id,
    models: model.models,
    ...(model.discount === undefined ? {} : { discount: model.discount }),
    health: circuit.health(Effect.suspend(() => model.health)),
    generate
  } satisfies Service
})
