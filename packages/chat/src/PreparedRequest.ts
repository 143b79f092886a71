import { chatModel } from "@svc/api/chat/ChatCompletion"
import { UnsupportedModel } from "@svc/api/chat/ChatError"
import type { ChatMessage, ChatRequest, ChatToolCall } from "@svc/api/chat/ChatRequest"
import { readJson, yieldThread } from "@svc/api/JsonLimits"
import { ValidationError } from "@svc/api/VoiceError"
import type { ModelMessage, ModelRequest, ModelTool, ModelToolCall } from "@svc/providers/LanguageModel"
import { Effect, Either } from "effect"

/** A request of a client as the language model takes it, with what this package does beside the model. */
export interface PreparedRequest {
  readonly request: ModelRequest
  /** Texts before which the answer ends. */
  readonly stop: ReadonlyArray<string>
  /** Whether the answer may call more than one tool. */
  readonly parallelToolCalls: boolean
  readonly stream: boolean
  /** Whether the last event of a stream has the usage. */
  readonly includeUsage: boolean
}

type Read<A> = Either.Either<A, ValidationError>

const invalid = (field: string, message: string): Either.Either<never, ValidationError> =>
  Either.left(ValidationError.field(field, message))

/** Values of parameters that a language model cannot follow here, and that change nothing. */
const withoutEffect: { readonly [name in keyof ChatRequest]?: (value: unknown) => boolean } = {
  n: (value) => value === 1,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  logit_bias: (value) => typeof value === "object" && value !== null && Object.keys(value).length === 0,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  modalities: (value) => Array.isArray(value) && value.every((one) => one === "text"),
  audio: () => false,
  functions: () => false,
  function_call: () => false,
  web_search_options: () => false,
  store: (value) => value === false
}

const parametersWithoutEffect = Object.entries(withoutEffect)

const hints: { readonly [name in keyof ChatRequest]?: string } = {
  n: "send one request for each answer",
  functions: "use tools",
  function_call: "use tool_choice"
}

const checkSupported = (body: ChatRequest): Read<void> => {
  for (const [name, isHarmless] of parametersWithoutEffect) {
    const value: unknown = Reflect.get(body, name)
    if (value === undefined || value === null || isHarmless(value)) continue
    const hint = Object.entries(hints).find(([key]) => key === name)?.[1]
    return invalid(name, `${name} is not supported${hint === undefined ? "; leave it out" : `: ${hint}`}`)
  }
  return Either.void
}

const textOf = (content: string | ReadonlyArray<{ readonly text: string } | { readonly refusal: string }>): string =>
  typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : part.refusal)).join("")

const notAnObject = "must be a JSON object as text"

/** The object in a JSON text within the limits of JSON from outside; `field` is its place in the body. */
const objectIn = (
  field: string,
  json: string
): Effect.Effect<{ readonly [name: string]: unknown }, ValidationError> => {
  const failed = (problem: string) => ValidationError.field(field, `${field} ${problem}`)
  return Effect.flatMap(
    Effect.mapError(readJson(Buffer.from(json === "" ? "{}" : json), "strict"), ({ excess }) =>
      failed(excess ?? notAnObject)
    ),
    (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Effect.succeed({ ...value })
        : failed(notAnObject)
  )
}

/** Characters of arguments that are read without serving other work between: most of a millisecond. */
const charactersAtOnce = 32 * 1024

const toolCalls = Effect.fnUntraced(function* (calls: ReadonlyArray<ChatToolCall>, path: string) {
  const read: Array<ModelToolCall> = []
  let characters = 0
  for (const [index, { function: called, id }] of calls.entries()) {
    const args = yield* objectIn(`${path}.${index}.function.arguments`, called.arguments)
    read.push({ id, name: called.name, arguments: args })
    characters += called.arguments.length
    if (characters > charactersAtOnce) {
      yield* yieldThread
      characters = 0
    }
  }
  return read
})

const messagesOf = Effect.fnUntraced(function* (messages: ReadonlyArray<ChatMessage>) {
  const read: Array<ModelMessage> = []
  /** Names of the called tools, by the calls' ids: OpenAI's tool messages have the id alone. */
  const names = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`
    if (message.role === "tool") {
      const name = names.get(message.tool_call_id)
      if (name === undefined) {
        const field = `${path}.tool_call_id`
        return yield* invalid(field, `${field} must be the id of a tool call in an earlier message of the assistant`)
      }
      read.push({ role: "tool", tool_call_id: message.tool_call_id, name, content: textOf(message.content) })
    } else if (message.role === "assistant") {
      const calls = yield* toolCalls(message.tool_calls ?? [], `${path}.tool_calls`)
      for (const { id, name } of calls) names.set(id, name)
      const content = textOf(message.content ?? message.refusal ?? "")
      const hasCalls = calls.length > 0
      if (!hasCalls && (message.content ?? message.refusal ?? null) === null) {
        return yield* invalid(`${path}.content`, `${path}.content is required when there are no tool_calls`)
      }
      read.push({ role: "assistant", content, ...(hasCalls && { tool_calls: calls }) })
    } else {
      const role = message.role === "developer" ? "system" : message.role
      read.push({ role, content: textOf(message.content) })
    }
  }
  return read
})

const noParameters = { type: "object", properties: {} }

const toolsOf = ({
  tool_choice,
  tools
}: ChatRequest): Read<{ readonly tools: ReadonlyArray<ModelTool>; readonly toolChoice: "auto" | "required" }> => {
  const all = (tools ?? []).map(({ function: { description, name, parameters } }) => ({
    name,
    description: description ?? "",
    parameters: parameters ?? noParameters
  }))
  const twice = all.findIndex(({ name }, index) => all.findIndex((other) => other.name === name) !== index)
  if (twice >= 0) {
    const field = `tools.${twice}.function.name`
    return invalid(field, `${field} is the name of another tool too: give each its own`)
  }
  const choice = tool_choice ?? "auto"
  if (choice === "none") return Either.right({ tools: [], toolChoice: "auto" })
  if (choice === "auto") return Either.right({ tools: all, toolChoice: "auto" })
  if (choice === "required") {
    return all.length > 0
      ? Either.right({ tools: all, toolChoice: "required" })
      : invalid("tool_choice", "tool_choice is required, but there are no tools")
  }
  const named = all.filter(({ name }) => name === choice.function.name)
  return named.length > 0
    ? Either.right({ tools: named, toolChoice: "required" })
    : invalid("tool_choice.function.name", "tool_choice.function.name must be the name of one of the tools")
}

/** The JSON Schema that an answer must conform to; undefined for text. */
const schemaOf = ({ response_format }: ChatRequest): ModelRequest["responseSchema"] => {
  if (response_format?.type === "json_object") return { type: "object" }
  if (response_format?.type === "json_schema") return response_format.json_schema.schema ?? { type: "object" }
  return undefined
}

/** Reads a request; `id` is that of the completion. Names the parameter that is wrong or not supported. */
export const prepare = Effect.fnUntraced(function* (id: string, body: ChatRequest) {
  if (body.model !== chatModel) return yield* new UnsupportedModel()
  yield* checkSupported(body)
  const messages = yield* messagesOf(body.messages)
  const { toolChoice, tools } = yield* toolsOf(body)
  const responseSchema = schemaOf(body)
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const stop = body.stop ?? []
  const prepared: PreparedRequest = {
    request: {
      callId: id,
      messages,
      tools,
      variables: {},
      ...(toolChoice === "required" && { toolChoice }),
      ...(typeof body.temperature === "number" && { temperature: body.temperature }),
      ...(typeof body.top_p === "number" && { topP: body.top_p }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(responseSchema !== undefined && { responseSchema })
    },
    stop: typeof stop === "string" ? [stop] : stop,
    parallelToolCalls: body.parallel_tool_calls !== false,
    stream: body.stream === true,
    includeUsage: body.stream === true && body.stream_options?.include_usage === true
  }
  return prepared
})
