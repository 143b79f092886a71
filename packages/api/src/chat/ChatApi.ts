import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { EventStreamOf } from "../EventStream.ts"
import { InsufficientCredits, ValidationError } from "../VoiceError.ts"
import { ChatCompletion, ChatCompletionChunk, ChatModel } from "./ChatCompletion.ts"
import { ChatConcurrentLimitExceeded, ChatRateLimitExceeded, ModelNotFound, UnsupportedModel } from "./ChatError.ts"
import { ChatRequest } from "./ChatRequest.ts"

const shape = "Errors have OpenAI's object in `error`, beside the fields of all errors."

/** `/v1/chat/completions` and `/v1/models`. See docs/reference/chat.md. */
export const ChatApi = HttpApiGroup.make("chat")
  .annotateContext(
    OpenApi.annotations({
      title: "Chat completions",
      description: `The server's language model, in the shapes of OpenAI's API. ${shape}`
    })
  )
  .add(
    HttpApiEndpoint.post("complete", "/v1/chat/completions")
      .annotateContext(
        OpenApi.annotations({
          summary: "Complete a chat",
          description:
            "Answers with the whole completion, or with `stream: true` with server-sent events: each `data:` is a chunk, the last one `[DONE]`. Disconnecting stops the model."
        })
      )
      .setPayload(ChatRequest)
      .addSuccess(ChatCompletion)
      .addError(ValidationError.wire)
      .addError(UnsupportedModel.wire)
      .addError(InsufficientCredits.wire)
      .addError(ChatRateLimitExceeded.wire)
      .addError(ChatConcurrentLimitExceeded.wire)
      .annotate(EventStreamOf, ChatCompletionChunk)
  )
  .add(
    HttpApiEndpoint.get("models", "/v1/models")
      .annotateContext(OpenApi.annotations({ summary: "List models", description: shape }))
      .addSuccess(Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(ChatModel) }))
  )
  .add(
    HttpApiEndpoint.get("model", "/v1/models/:model")
      .annotateContext(OpenApi.annotations({ summary: "Get a model", description: shape }))
      .setPath(Schema.Struct({ model: Schema.String }))
      .addSuccess(ChatModel)
      .addError(ModelNotFound.wire)
  )
