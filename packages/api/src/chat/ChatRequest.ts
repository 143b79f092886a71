import { Schema } from "effect"
import { Json, JsonObject } from "../Wire.ts"

/** An optional parameter; null means the same as none. */
const orNull = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** A parameter that changes nothing here, whatever its value. */
const ignored = Schema.optional(Json).annotations({ description: "Ignored" })

/** A parameter that is refused when it has a value with an effect. */
const unsupported = Schema.optional(Json).annotations({ description: "Not supported: refused unless it has no effect" })

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

const Content = Schema.Union(Schema.String, Schema.Array(TextPart))

const functionName = Schema.String.pipe(
  Schema.pattern(/^[a-zA-Z0-9_-]{1,64}$/, {
    message: () => "a function's name has 1 to 64 letters, digits, underscores and dashes"
  })
)

/** A call of a function by the model; `arguments` is JSON text. */
export const ChatToolCall = Schema.Struct({
  id: Schema.String.pipe(Schema.minLength(1)),
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: functionName, arguments: Schema.String })
}).annotations({ identifier: "ChatToolCall" })
export type ChatToolCall = typeof ChatToolCall.Type

// One literal for each member of the union: by it the message of an error finds the member.
const SystemMessage = Schema.Struct({ role: Schema.Literal("system"), content: Content, name: ignored })

const DeveloperMessage = Schema.Struct({ role: Schema.Literal("developer"), content: Content, name: ignored })

const UserMessage = Schema.Struct({ role: Schema.Literal("user"), content: Content, name: ignored })

const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: orNull(Schema.Union(Schema.String, Schema.Array(Schema.Union(TextPart, RefusalPart)))),
  refusal: orNull(Schema.String),
  tool_calls: orNull(Schema.Array(ChatToolCall)),
  name: ignored
})

const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  tool_call_id: Schema.String,
  content: Content
})

/** One message of the conversation. */
export const ChatMessage = Schema.Union(
  SystemMessage,
  DeveloperMessage,
  UserMessage,
  AssistantMessage,
  ToolMessage
).annotations({ identifier: "ChatMessage" })
export type ChatMessage = typeof ChatMessage.Type

const ChatTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: functionName,
    description: orNull(Schema.String),
    parameters: orNull(JsonObject),
    strict: ignored
  })
})

const ToolChoice = Schema.Union(
  Schema.Literal("none", "auto", "required"),
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Schema.String }) })
)

const ResponseFormat = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: Schema.String,
      description: orNull(Schema.String),
      schema: orNull(JsonObject),
      strict: ignored
    })
  })
)

const tokens = Schema.Int.pipe(Schema.between(1, 1_000_000))
const stopText = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))

/** Body of `POST /v1/chat/completions`: OpenAI's request. See docs/reference/chat.md. */
export const ChatRequest = Schema.Struct({
  model: Schema.String.annotations({ examples: ["svc-ki-1.0"] }),
  messages: Schema.Array(ChatMessage).pipe(Schema.minItems(1)),
  stream: orNull(Schema.Boolean),
  stream_options: orNull(Schema.Struct({ include_usage: orNull(Schema.Boolean), include_obfuscation: ignored })),
  tools: orNull(Schema.Array(ChatTool).pipe(Schema.maxItems(128))),
  tool_choice: orNull(ToolChoice),
  parallel_tool_calls: orNull(Schema.Boolean),
  temperature: orNull(Schema.Number.pipe(Schema.between(0, 2))),
  top_p: orNull(Schema.Number.pipe(Schema.between(0, 1))),
  max_tokens: orNull(tokens),
  max_completion_tokens: orNull(tokens),
  stop: orNull(Schema.Union(stopText, Schema.Array(stopText).pipe(Schema.maxItems(4)))),
  response_format: orNull(ResponseFormat),
  n: unsupported,
  frequency_penalty: unsupported,
  presence_penalty: unsupported,
  logit_bias: unsupported,
  logprobs: unsupported,
  top_logprobs: unsupported,
  modalities: unsupported,
  audio: unsupported,
  functions: unsupported,
  function_call: unsupported,
  web_search_options: unsupported,
  store: unsupported,
  seed: ignored,
  user: ignored,
  safety_identifier: ignored,
  metadata: ignored,
  service_tier: ignored,
  reasoning_effort: ignored,
  verbosity: ignored,
  prediction: ignored,
  prompt_cache_key: ignored,
  prompt_cache_retention: ignored
}).annotations({ identifier: "ChatRequest" })
export type ChatRequest = typeof ChatRequest.Type
