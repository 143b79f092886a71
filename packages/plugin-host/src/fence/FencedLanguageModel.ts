import { type LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { fencedRequest } from "./FencedRequest.ts"
import { makeCircuit } from "./ProviderCircuit.ts"
import { modelDelta, problemOf } from "./Shapes.ts"

type Service = Context.Tag.Service<LanguageModel>

/** Milliseconds that may pass before the first delta and between two deltas. */
export const modelIdleMs = 20_000

/**
 * A fenced language model: idle timeouts, throws, defects and invalid deltas become `LanguageModelError`, failures open a circuit
 * breaker, and no delta passes after its request has ended or was interrupted.
 */
export const fencedLanguageModel = Effect.fnUntraced(function* (model: Service) {
  const circuit = yield* makeCircuit
  const failed = (reason: string) => new LanguageModelError({ reason: `${model.id}: ${reason}`, retryable: true })

  const generate: Service["generate"] = (request, onDelta) =>
    fencedRequest(circuit, failed, { ms: modelIdleMs, reason: "generated nothing" }, (state) =>
      model.generate(request, (delta) => {
        if (!state.live) return
        const problem = problemOf(modelDelta, delta)
        if (problem !== undefined) return state.abort(`generated something invalid: ${problem}`)
        state.lastActivity = circuit.now()
        onDelta(delta)
      })
    )

  // Field by field: a service may be a class instance, and a spread would lose its methods.
  return {
    id: model.id,
    models: model.models,
    ...(model.discount === undefined ? {} : { discount: model.discount }),
    health: circuit.health(Effect.suspend(() => model.health)),
    generate
  } satisfies Service
})
