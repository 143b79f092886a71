import { alternating } from "@svc/providers/AlternatingRoles"
import type { ModelMessage, ModelRequest } from "@svc/providers/LanguageModel"

/**
 * What a server accepts for a model. Servers of this protocol differ; each begins with all that OpenAI has, and loses what it
 * refuses.
 */
export interface Dialect {
  readonly usage: boolean
  readonly cacheKey: boolean
  readonly sampling: boolean
  readonly limit: "max_completion_tokens" | "max_tokens"
  readonly schema: "json_schema" | "json_object" | "none"
  readonly requiredTool: boolean
  /** A prompt at the beginning, then user and assistant in turns. */
  readonly alternating: boolean
}

/** What is tried first at a server. Only OpenAI itself refuses the older name of the limit. */
export const initialDialect = (isOpenAi: boolean): Dialect => ({
  usage: true,
  cacheKey: true,
  sampling: true,
  limit: isOpenAi ? "max_completion_tokens" : "max_tokens",
  schema: "json_schema",
  requiredTool: true,
  alternating: false
})

const strictRoles =
  /roles? must alternate|must be at the beginning|system role not supported|only user and assistant roles|expected last role/i

/**
 * The dialect after a server has refused a request with this message; undefined when the message names nothing that can be
 * left out. Each answer has less than the dialect before, so that this ends.
 */
export const withoutRefused = (dialect: Dialect, message: string): Dialect | undefined => {
  const names = (name: string) => message.includes(name)
  if (dialect.usage && (names("stream_options") || names("include_usage"))) return { ...dialect, usage: false }
  if (dialect.cacheKey && names("prompt_cache_key")) return { ...dialect, cacheKey: false }
  // The message about one name may recommend the other.
  if (dialect.limit === "max_completion_tokens" && /max_completion_tokens/.test(message)) {
    return { ...dialect, limit: "max_tokens" }
  }
  if (dialect.limit === "max_tokens" && names("max_completion_tokens") === names("max_tokens") && names("max_tokens")) {
    return { ...dialect, limit: "max_completion_tokens" }
  }
  if (dialect.sampling && (names("temperature") || names("top_p"))) return { ...dialect, sampling: false }
  if (dialect.requiredTool && names("tool_choice")) return { ...dialect, requiredTool: false }
  if (dialect.schema !== "none" && (names("response_format") || names("json_schema") || names("json_object"))) {
    return { ...dialect, schema: dialect.schema === "json_schema" ? "json_object" : "none" }
  }
  if (!dialect.alternating && strictRoles.test(message)) return { ...dialect, alternating: true }
  return undefined
}

const wireMessage = (message: ModelMessage): unknown => {
  // Lone surrogates are no JSON to some servers.
  const content = message.content.toWellFormed()
  switch (message.role) {
    case "assistant":
      return message.tool_calls === undefined || message.tool_calls.length === 0
        ? { role: "assistant", content }
        : {
            role: "assistant",
            content: content === "" ? null : content,
            tool_calls: message.tool_calls.map(({ arguments: given, id, name }) => ({
              id,
              type: "function",
              function: { name, arguments: JSON.stringify(given) }
            }))
          }
    case "tool":
      return { role: "tool", tool_call_id: message.tool_call_id, content }
    default:
      return { role: message.role, content }
  }
}

/** Asks for an object of the schema in words, of a server that cannot be held to it. */
const withSchema = (messages: ReadonlyArray<ModelMessage>, schema: unknown): ReadonlyArray<ModelMessage> => [
  ...messages,
  {
    role: "system",
    content: `Answer with one JSON object only, which conforms to this JSON Schema:\n${JSON.stringify(schema)}`
  }
]

/** The body of a request to `/chat/completions`. */
export const chatRequest = (
  request: ModelRequest,
  model: string,
  dialect: Dialect
): { readonly [field: string]: unknown } => {
  const { maxOutputTokens, responseSchema, temperature, toolChoice, tools, topP } = request
  const inWords = responseSchema !== undefined && dialect.schema !== "json_schema"
  const asked = inWords ? withSchema(request.messages, responseSchema) : request.messages
  const messages = dialect.alternating ? alternating(asked) : asked
  return {
    model,
    messages: messages.map(wireMessage),
    stream: true,
    ...(dialect.usage ? { stream_options: { include_usage: true } } : {}),
    ...(dialect.cacheKey ? { prompt_cache_key: request.callId } : {}),
    ...(dialect.sampling && temperature !== undefined ? { temperature } : {}),
    ...(dialect.sampling && topP !== undefined ? { top_p: topP } : {}),
    ...(maxOutputTokens === undefined ? {} : { [dialect.limit]: maxOutputTokens }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ description, name, parameters }) => ({
            type: "function",
            function: { name, description, parameters }
          })),
          ...(toolChoice === "required" && dialect.requiredTool ? { tool_choice: "required" } : {})
        }),
    ...(responseSchema === undefined || dialect.schema === "none"
      ? {}
      : {
          response_format:
            dialect.schema === "json_schema"
              ? { type: "json_schema", json_schema: { name: "answer", schema: responseSchema } }
              : { type: "json_object" }
        })
  }
}
