import { type LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { idleTimeout } from "./IdleTimeout.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { makeCircuit, throughCircuit } from "./ProviderCircuit.ts"

type Service = Context.Tag.Service<LanguageModel>

/** Milliseconds that may pass before the first delta and between two deltas. */
export const modelIdleMs = 20_000

/**
 * A fenced language model: idle timeouts, throws and defects become `LanguageModelError`, failures open a circuit
 * breaker, and no delta passes after its request has ended or was interrupted.
 */
export const fencedLanguageModel = Effect.fnUntraced(function* (model: Service) {
  const circuit = yield* makeCircuit
  const failed = (reason: string) => new LanguageModelError({ reason: `${model.id}: ${reason}`, retryable: true })

  const generate: Service["generate"] = (request, onDelta) =>
    Effect.suspend(() => {
      let live = true
      let lastActivity = circuit.now()
      const inner = () =>
        model.generate(request, (delta) => {
          if (!live) return
          lastActivity = circuit.now()
          onDelta(delta)
        })
      return runIsolated(inner, failed).pipe(
        Effect.raceFirst(
          idleTimeout(
            () => lastActivity,
            modelIdleMs,
            () => failed(`generated nothing for ${modelIdleMs / 1000} s`)
          )
        ),
        Effect.onExit(() =>
          Effect.sync(() => {
            live = false
          })
        ),
        throughCircuit(circuit, failed)
      )
    })

  // Field by field: a service may be a class instance, and a spread would lose its methods.
  return {
    id: model.id,
    models: model.models,
    ...(model.discount === undefined ? {} : { discount: model.discount }),
    health: circuit.health(Effect.suspend(() => model.health)),
    generate
  } satisfies Service
})
