import { Schema } from "effect"
import { ChatToolCall } from "./ChatRequest.ts"

/** The id of the one model that requests name. */
export const chatModel = "svc-ki-1.0"

/** Why the answer ended. */
export const FinishReason = Schema.Literal("stop", "length", "tool_calls", "content_filter")
export type FinishReason = typeof FinishReason.Type

const Count = Schema.Int.pipe(Schema.nonNegative())

/** Tokens of one completion, as the language model counts them. */
export const ChatUsage = Schema.Struct({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: Schema.Struct({ cached_tokens: Count })
}).annotations({ identifier: "ChatUsage" })
export type ChatUsage = typeof ChatUsage.Type

const head = {
  id: Schema.String.annotations({ examples: ["chatcmpl-0123456789abcdefghijklmn"] }),
  created: Schema.Int.annotations({ description: "Unix seconds" }),
  model: Schema.Literal(chatModel),
  system_fingerprint: Schema.String.annotations({
    description: "`fp_` and the name of the language model plugin that answered",
    examples: ["fp_simulated"]
  })
}

/** A complete answer. */
export const ChatCompletion = Schema.Struct({
  ...head,
  object: Schema.Literal("chat.completion"),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      message: Schema.Struct({
        role: Schema.Literal("assistant"),
        content: Schema.NullOr(Schema.String).annotations({ description: "Null when the answer is tool calls alone" }),
        refusal: Schema.Null,
        tool_calls: Schema.optional(Schema.Array(ChatToolCall))
      }),
      logprobs: Schema.Null,
      finish_reason: FinishReason
    })
  ),
  usage: Schema.optional(ChatUsage).annotations({ description: "Absent when the language model reports none" })
}).annotations({ identifier: "ChatCompletion" })
export type ChatCompletion = typeof ChatCompletion.Type

/** One event of a streamed answer. */
export const ChatCompletionChunk = Schema.Struct({
  ...head,
  object: Schema.Literal("chat.completion.chunk"),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      delta: Schema.Struct({
        role: Schema.optional(Schema.Literal("assistant")),
        content: Schema.optional(Schema.String),
        tool_calls: Schema.optional(Schema.Array(Schema.Struct({ index: Schema.Int, ...ChatToolCall.fields })))
      }),
      logprobs: Schema.Null,
      finish_reason: Schema.NullOr(FinishReason)
    })
  ),
  usage: Schema.optional(Schema.NullOr(ChatUsage)).annotations({
    description: "With `stream_options.include_usage`: null, and the usage in the last event, which has no choices"
  })
}).annotations({ identifier: "ChatCompletionChunk" })
export type ChatCompletionChunk = typeof ChatCompletionChunk.Type

/** A model as `GET /v1/models` lists it. */
export const ChatModel = Schema.Struct({
  id: Schema.Literal(chatModel),
  object: Schema.Literal("model"),
  created: Schema.Int.annotations({ description: "Unix seconds" }),
  owned_by: Schema.Literal("svc")
}).annotations({ identifier: "ChatModel" })
export type ChatModel = typeof ChatModel.Type
