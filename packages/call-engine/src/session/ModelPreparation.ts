import { tools } from "@svc/conversation/ModelMessages"
import type { Conversation } from "@svc/conversation/State"
import type { LanguageModel } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { reasonOf } from "./Failure.ts"
import { chooseModel, named } from "./ModelChoice.ts"

/** What a model prepares for. */
const preparedFor = ({ config, provider_index }: Conversation) =>
  [config?.system_prompt, config?.tools, provider_index.model, config?.model?.name] as const

/**
 * Lets the model prepare for the requests of a call: when the call is configured, when its prompt or tools change, and
 * when a fallback takes over. `run` starts a task at once, up to its first asynchronous step. A failure is logged.
 */
export const modelPreparation = (options: {
  readonly callId: string
  /** In the order of preference. */
  readonly models: ReadonlyArray<Context.Tag.Service<LanguageModel>>
  readonly run: (task: Effect.Effect<void>) => void
}): ((state: Conversation, before: Conversation | undefined) => void) => {
  const { callId, models, run } = options
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
      Effect.catchAllCause(prepared, (cause) =>
        Effect.annotateLogs(
          Effect.logWarning(`Language model ${model.id} did not prepare for a call: ${reasonOf(cause)}`),
          "call_id",
          callId
        )
      )
    )
  }
}
