import type { CommandOf } from "@svc/conversation/Command"
import { maxSummary } from "@svc/conversation/machines/History"
import type { ModelDelta } from "@svc/providers/LanguageModel"
import { ThoughtFilter } from "@svc/providers/ThoughtFilter"
import { Effect } from "effect"
import type { Feed } from "./ConversationServices.ts"
import { reasonOf } from "./Failure.ts"
import { chooseModel, type Model, named, requestFor } from "./ModelChoice.ts"
import { usageOf } from "./ModelUsage.ts"

/** A summary that takes longer has failed. */
const longest = "30 seconds"

/** The longest answer of a summary, in tokens. */
const maxOutputTokens = 1024

/** Carries out `Summarize` beside the call, and feeds the outcome back. Never fails. */
export const summarizer = (options: {
  readonly callId: string
  readonly models: ReadonlyArray<Model>
  readonly variables: { readonly [name: string]: string }
  readonly feed: Feed
}): ((command: CommandOf<"Summarize">) => Effect.Effect<void>) => {
  const { callId, feed, models, variables } = options
  return (command) =>
    Effect.suspend(() => {
      const model = chooseModel(models, command)
      if (model === undefined) return Effect.fail({ reason: "no language model is loaded" })
      const thoughts = new ThoughtFilter()
      const countUsage = usageOf((usage) => feed({ _tag: "ModelUsed", ...usage, of: "summary" }))
      let text = ""
      const onDelta = (delta: ModelDelta): void => {
        countUsage(delta)
        if (delta._tag === "Text" && text.length <= maxSummary) text += thoughts.push(delta.text)
      }
      const { messages } = command
      const request = { callId, messages, tools: [], maxOutputTokens, variables, ...named(model, command) }
      return Effect.map(model.generate(requestFor(model, request), onDelta), () => text + thoughts.end())
    }).pipe(
      Effect.timeoutFail({ duration: longest, onTimeout: () => ({ reason: `no summary came within ${longest}` }) }),
      Effect.matchCause({
        onSuccess: (text) => feed({ _tag: "Summarized", id: command.id, text: text.slice(0, maxSummary) }),
        onFailure: (cause) => feed({ _tag: "SummaryFailed", id: command.id, reason: reasonOf(cause) })
      })
    )
}
