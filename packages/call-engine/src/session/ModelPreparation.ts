import { tools } from "@svc/conversation/ModelMessages"
import type { Conversation } from "@svc/conversation/State"
import type { LanguageModel } from "@svc/providers/LanguageModel"
import { Cause, type Context, Effect, Option } from "effect"
import { reasonOf } from "./Failure.ts"
import { chooseModel, named } from "./ModelChoice.ts"

/** What a model prepares for. */
const preparedFor = ({ config, provider_index }: Conversation) =>
  [config?.system_prompt, config?.tools, provider_index.model, config?.model?.name] as const

/**
 * Lets the model prepare for the requests of a call: when the call is configured, when its prompt or tools change, and
 * when a fallback takes over. `run` starts a task at once, up to its first asynchronous step. A failure is logged; one that
 * will come again, such as a prompt that the model cannot read, is a warning of the call.
 */
export const modelPreparation = (options: {
  readonly callId: string
  /** In the order of preference. */
  readonly models: ReadonlyArray<Context.Tag.Service<LanguageModel>>
  readonly run: (task: Effect.Effect<void>) => void
  readonly onWarning: (reason: string) => void
}): ((state: Conversation, before: Conversation | undefined) => void) => {
  const { callId, models, onWarning, run } = options
  return (state, before) => {
    const [systemPrompt, configured, index, name] = preparedFor(state)
    if (systemPrompt === undefined || state.ended_at !== null) return
    if (before !== undefined) {
      const [prompt, earlier, earlierIndex, earlierName] = preparedFor(before)
      if (prompt === systemPrompt && earlier === configured && earlierIndex === index && earlierName === name) return
    }
    const wanted = name === undefined || name === null ? {} : { model: name }
    const model = chooseModel(models, { ...wanted, provider: index })
    if (model?.prepare === undefined) return
    const call = { callId, systemPrompt, tools: tools(state), ...named(model, wanted) }
    const prepared = Effect.suspend(() => model.prepare?.(call) ?? Effect.void)
    run(
      Effect.catchAllCause(prepared, (cause) => {
        const isLasting = Option.exists(Cause.failureOption(cause), ({ retryable }) => !retryable)
        if (isLasting) onWarning(reasonOf(cause))
        const line = `Language model ${model.id} did not prepare for a call: ${reasonOf(cause)}`
        return Effect.annotateLogs(Effect.logWarning(line), "call_id", callId)
      })
    )
  }
}
