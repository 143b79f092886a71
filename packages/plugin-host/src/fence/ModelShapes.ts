import { errorSummary } from "../ErrorSummary.ts"
import { type Check, fields, is, isRecord, kindOf, oneOf, type Problem } from "./Shapes.ts"

/** What is wrong with a value of a language model or an embedding provider. */

const toolCall = fields("a tool call", { id: "string", name: "string", arguments: "object" })

const tokens = (what: string, value: unknown): Problem =>
  Number.isInteger(value) && Number(value) >= 0 ? undefined : `${what} of a delta must be a whole number from 0`

/** Counts of tokens. Those from the cache are some of the input. */
const usage = ({ cachedInputTokens = 0, inputTokens, outputTokens }: { readonly [field: string]: unknown }): Problem =>
  tokens("the inputTokens", inputTokens) ??
  tokens("the outputTokens", outputTokens) ??
  tokens("the cachedInputTokens", cachedInputTokens) ??
  (Number(cachedInputTokens) > Number(inputTokens)
    ? "the cachedInputTokens of a delta must be at most its inputTokens"
    : undefined)

/** One delta of a language model. The arguments of a tool call must have JSON. */
export const modelDelta: Check = (value) => {
  if (!isRecord(value)) return `a delta must be an object, not ${kindOf(value)}`
  switch (value["_tag"]) {
    case "Text":
      return is("the text of a delta", "string", value["text"])
    case "ToolCall": {
      const call = value["call"]
      const problem = toolCall(call)
      if (problem !== undefined || !isRecord(call)) return problem
      try {
        JSON.stringify(call["arguments"])
        return undefined
      } catch (defect) {
        return `the arguments of a tool call cannot be written as JSON: ${errorSummary(defect)}`
      }
    }
    case "Usage":
      return usage(value)
    case "Done":
      return oneOf("the reason of Done", ["stop", "tool_calls", "length", "content_filter"], value["reason"])
    default:
      return "a delta must be Text, ToolCall, Usage or Done"
  }
}

/** The vectors of a batch of texts. */
export const vectors =
  (texts: number, dimensions: number): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length !== texts) {
      return `the vectors must be an array of ${texts}, not ${Array.isArray(value) ? value.length : kindOf(value)}`
    }
    for (const vector of value) {
      if (!(vector instanceof Float32Array)) return `a vector must be a Float32Array, not ${kindOf(vector)}`
      if (vector.length !== dimensions) return `a vector must have ${dimensions} numbers, not ${vector.length}`
      if (!vector.every(Number.isFinite)) return "a vector has a number that is not finite"
      if (vector.every((number) => number === 0)) return "a vector has only zeros"
    }
    return undefined
  }

const embeddingFields = fields("an embedding provider", { model: "string", limits: "object" })
const isCount = (value: unknown, most: number) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most

/** What an embedding provider declares. */
export const embedding: Check = (value) => {
  const problem = embeddingFields(value)
  if (problem !== undefined || !isRecord(value)) return problem
  if (value["model"] === "") return "the model of an embedding provider has no name"
  if (!isCount(value["dimensions"], 4096)) return "its dimensions must be a whole number from 1 to 4096"
  const limits = isRecord(value["limits"]) ? value["limits"] : {}
  return isCount(limits["texts"], Infinity) && isCount(limits["characters"], Infinity)
    ? undefined
    : "its limits must have texts and characters, each a whole number from 1"
}
