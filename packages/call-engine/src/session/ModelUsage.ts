import type { InputOf } from "@svc/conversation/Input"
import type { ModelDelta } from "@svc/providers/LanguageModel"

/** Tokens of one request. */
export type ModelUsage = Omit<InputOf<"ModelUsed">, "_tag" | "at">

export const noTokens: ModelUsage = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 }

/** A count that JSON can carry. */
const finite = (count: number | undefined): number => (count !== undefined && Number.isFinite(count) ? count : 0)

/**
 * Takes the deltas of one request and reports its usage at once, so that it counts also when the request is cancelled
 * afterwards. A provider that repeats its usage with larger counts is reported by what was added.
 */
export const usageOf = (onUsage: (usage: ModelUsage) => void): ((delta: ModelDelta) => void) => {
  let known = noTokens
  return (delta) => {
    if (delta._tag !== "Usage") return
    const now = {
      input_tokens: Math.max(known.input_tokens, finite(delta.inputTokens)),
      cached_input_tokens: Math.max(known.cached_input_tokens, finite(delta.cachedInputTokens)),
      output_tokens: Math.max(known.output_tokens, finite(delta.outputTokens))
    }
    const added = {
      input_tokens: now.input_tokens - known.input_tokens,
      cached_input_tokens: now.cached_input_tokens - known.cached_input_tokens,
      output_tokens: now.output_tokens - known.output_tokens
    }
    known = now
    if (added.input_tokens + added.cached_input_tokens + added.output_tokens > 0) onUsage(added)
  }
}
