import { type Context, Effect, type Exit, FiberId, Runtime } from "effect"
import type { LanguageModel, LanguageModelError, ModelDelta, ModelRequest } from "./LanguageModel.ts"

/** A generation with callbacks. */
export interface GenerationListener {
  readonly onDelta: (delta: ModelDelta) => void
  /** Called once, after the last delta; it may be before the start has returned. */
  readonly onEnd: (exit: Exit.Exit<void, LanguageModelError>) => void
}

/** A language model of a plugin, as the server runs it. */
export interface LoadedLanguageModel extends Context.Tag.Service<LanguageModel> {
  /**
   * As `generate`, with callbacks in place of a fiber that waits for the model. `runtime`: its logger and annotations are
   * those of the request. The result gives the generation up, without waiting for the model. Neither it nor `start` may
   * throw. Absent: use {@link startGeneration}, which runs any model.
   */
  readonly start?: (request: ModelRequest, runtime: Runtime.Runtime<never>, listener: GenerationListener) => () => void
}

/** Starts a generation; see `start` of {@link LoadedLanguageModel}. */
export const startGeneration = (
  model: LoadedLanguageModel,
  request: ModelRequest,
  runtime: Runtime.Runtime<never>,
  listener: GenerationListener
): (() => void) => {
  if (model.start !== undefined) return model.start(request, runtime, listener)
  const fiber = Runtime.runFork(runtime)(Effect.suspend(() => model.generate(request, listener.onDelta)))
  fiber.addObserver(listener.onEnd)
  return () => {
    // Interrupting a fiber that has ended is work for nothing.
    if (fiber.unsafePoll() === null) fiber.unsafeInterruptAsFork(FiberId.none)
  }
}
