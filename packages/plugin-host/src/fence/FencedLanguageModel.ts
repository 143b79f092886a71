import {
  type LanguageModel,
  LanguageModelError,
  type ModelDelta,
  type ModelRequest
} from "@svc/providers/LanguageModel"
import type { LoadedLanguageModel } from "@svc/providers/LoadedLanguageModel"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { type Context, Duration, Effect, Fiber, Runtime } from "effect"
import { fencedRequest, type RequestState, startRequest } from "./FencedRequest.ts"
import { settled } from "./IsolatedFiber.ts"
import { modelDelta } from "./ModelShapes.ts"
import { makeCircuit } from "./ProviderCircuit.ts"
import { problemOf } from "./Shapes.ts"

type Service = Context.Tag.Service<LanguageModel>

/** Milliseconds that may pass before the first delta and between two deltas. */
export const modelIdleMs = 20_000
/** How long a model may prepare for a call. */
export const prepareDeadline = Duration.seconds(10)

/**
 * A fenced language model: idle timeouts, throws, defects and invalid deltas become `LanguageModelError`, failures open a circuit
 * breaker, and no delta passes after its request has ended or was interrupted. `prepare` has a deadline.
 */
export const fencedLanguageModel = Effect.fnUntraced(function* (model: Service) {
  const circuit = yield* makeCircuit("language_model")
  const timeout = yield* SharedTimeout.make(modelIdleMs)
  const failed = (reason: string) => new LanguageModelError({ reason: `${model.id}: ${reason}`, retryable: true })

  const idle = { timeout, reason: "generated nothing" }
  const run =
    (request: ModelRequest, onDelta: (delta: ModelDelta) => void) =>
    (state: RequestState): Effect.Effect<void, LanguageModelError> =>
      model.generate(request, (delta) => {
        if (!state.live) return
        const problem = problemOf(modelDelta, delta)
        if (problem !== undefined) return state.abort(`generated something invalid: ${problem}`)
        state.lastActivity = circuit.now()
        onDelta(delta)
      })
  const generate: Service["generate"] = (request, onDelta) =>
    fencedRequest(circuit, failed, idle, run(request, onDelta))
  const start: NonNullable<LoadedLanguageModel["start"]> = (request, runtime, { onDelta, onEnd }) =>
    startRequest(circuit, failed, idle, run(request, onDelta), runtime, onEnd)

  /**
   * Outside the circuit breaker: a model that was not prepared may answer. The plugin's fiber begins on this stack and not
   * later, because the contract says that its synchronous part is done before the call goes on.
   */
  const prepare: NonNullable<Service["prepare"]> = (call) =>
    Effect.flatMap(Effect.runtime<never>(), (runtime) => {
      const fiber = Runtime.runFork(runtime)(circuit.logs(Effect.suspend(() => model.prepare?.(call) ?? Effect.void)))
      return Fiber.await(fiber).pipe(
        Effect.flatMap((exit) => settled(exit, failed)),
        Effect.timeoutFail({
          duration: prepareDeadline,
          onTimeout: () => failed(`did not prepare within ${Duration.format(prepareDeadline)}`)
        }),
        Effect.ensuring(Effect.flatMap(Effect.fiberId, (self) => Fiber.interruptAsFork(fiber, self)))
      )
    })

  const contextTokens = (name: string): number | undefined => {
    try {
      const tokens = model.contextTokens?.(name)
      return Number.isInteger(tokens) && Number(tokens) > 0 ? tokens : undefined
    } catch {
      // As for a model of which nothing is known.
      return undefined
    }
  }

  // Field by field: a service may be a class instance, and a spread would lose its methods.
  return {
    id: model.id,
    get models() {
      return model.models
    },
    ...(model.contextTokens && { contextTokens }),
    ...(model.alternatingRoles === undefined ? {} : { alternatingRoles: model.alternatingRoles }),
    ...(model.discount === undefined ? {} : { discount: model.discount }),
    health: circuit.health(Effect.suspend(() => model.health)),
    ...(model.prepare && { prepare }),
    generate,
    start
  } satisfies LoadedLanguageModel
})
